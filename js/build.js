// Makes the files that people load: `npm run build`.
//
//     dist/localdp.js, dist/question.js                      the client, and the elements for pages: what npm packs
//     ../src/localdp/collector/javascript/localdp-<version>.js   the same bytes, which collectors serve, and a file .br beside it
//                                                            with these bytes compressed, for browsers that take that
//
// The second folder is committed, so that nobody needs Node to install or to run a collector. A release adds its file there and
// leaves the older ones, because pages name the version that they load.

import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
import { minify } from "terser";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const asInPython = version.replace("-dev.", ".dev");
const served = (/** @type {string} */ name) => `../src/localdp/collector/javascript/${name}-${asInPython}.js`;

// What terser may assume of our code: nobody asks a function for its length or whether it is a constructor.
const SHORTENED = { passes: 3, keep_fargs: false, unsafe_arrows: true, unsafe_methods: true };

/**
 * The text of one built file: esbuild puts it together and shortens it, and terser gives the names that compress best.
 * @param {string} entry
 * @param {string} client where it finds the client, if it is another file
 */
async function built(entry, client = "") {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    external: ["localdp"],
    format: "esm",
    logLevel: "warning",
    mangleProps: /^_[a-z]/,
    minify: true,
    target: "es2022",
    write: false,
  });
  const { code } = await minify(outputFiles[0].text, { module: true, ecma: 2020, compress: SHORTENED });
  return `/* localdp ${version}, Apache-2.0 */\n${code?.replace('from"localdp"', `from"${client}"`)}\n`;
}

/** @param {string} path @param {string} text */
function write(path, text) {
  writeFileSync(path, text);
  writeFileSync(`${path}.br`, brotliCompressSync(text));
}

const client = await built("src/index.js");
writeFileSync("dist/localdp.js", client);
write(served("localdp"), client);
writeFileSync("dist/question.js", await built("src/question/question.js", "./localdp.js"));
write(served("localdp-question"), await built("src/question/question.js", `./localdp-${asInPython}.js`));
