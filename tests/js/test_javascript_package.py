"""The JavaScript package: its types, its size, and the tarball that people install."""

from __future__ import annotations

import json
import shutil

import pytest
from js.chromium import needs_chromium, opened
from node_tools import JS, NODE, NPM, TOOLS, needs_packages, run
from paths import ROOT

import localdp
from localdp.collector.routes.pages import CLIENT

pytestmark = [needs_packages, pytest.mark.slow]

_USE = """
import { Client, Plan, freshWords, type LocalDPError } from "localdp";

const plan: Plan = Plan.parse("{}", { mostEpsilon: 2 });
const report: Uint8Array = plan.batch(plan.permanent(plan.index("tea"), freshWords()));
const epsilon: number = plan.epsilon;
export const code = (error: LocalDPError): string => error.code;
console.log(report, epsilon);
const client = new Client(plan);
export const delivered = [client.send("tea"), client.send(["tea", "milk"]), client.report(new Set([1, 2]))];
// @ts-expect-error: an item is text, a number or a boolean
client.send([null]);
// @ts-expect-error: a limit has another type
Plan.parse("{}", { mostEpsilon: "2" });
// @ts-expect-error: there is no such method
plan.nothing();
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The tarball, made in a copy of the folder, as `npm pack` makes it."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(JS, folder / "js", ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / CLIENT.relative_to(ROOT)).mkdir(parents=True)
    (folder / "js" / "node_modules").symlink_to(JS / "node_modules")
    run([NPM, "pack", "--pack-destination", folder], folder / "js")
    (tarball,) = folder.glob("localdp-*.tgz")
    return tarball


def test_the_types_are_checked_strictly():
    assert run([TOOLS / "tsc", "-p", ".", "--noEmit"]) == ""
    options = json.loads((JS / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    assert options["strict"]
    assert options["checkJs"]


def test_the_client_is_small_and_has_no_dependencies(packed):
    """What a browser loads, over HTTPS, is compressed by Brotli."""
    module = packed.parent / "js" / "dist" / "localdp.js"
    assert _brotli(module) <= 16_384
    assert _brotli(module.with_name("question.js")) <= 8_192
    assert b"import" not in module.read_bytes().replace(b"import.meta", b"")
    assert "dependencies" not in json.loads((JS / "package.json").read_text("utf-8"))


def _brotli(path):
    """The size of a file when it is compressed."""
    read = f"require('fs').readFileSync({json.dumps(str(path))})"
    return int(run([NODE, "-p", f"require('zlib').brotliCompressSync({read}).length"]))


def test_collectors_serve_the_very_file_that_npm_packs(packed):
    """What is committed was built from these sources: a build of them gives the same bytes."""
    version = json.loads((JS / "package.json").read_text("utf-8"))["version"]
    assert version.replace("-dev.", ".dev") == localdp.__version__
    built = (packed.parent / "js" / "dist" / "localdp.js").read_bytes()
    served = CLIENT / f"localdp-{localdp.__version__}.js"
    assert served.read_bytes() == built, "run `npm run build` in js/"
    unpacked = f"require('zlib').brotliDecompressSync(require('fs').readFileSync({json.dumps(f'{served}.br')}))"
    assert run([NODE, "-e", f"process.stdout.write({unpacked})"]).encode() == built


def test_the_tarball_installs_and_works_in_an_empty_folder(packed, tmp_path):
    run([NPM, "install", "--offline", "--no-audit", "--no-fund", packed], tmp_path)
    plan = json.loads((JS.parent / "vectors" / "v1" / "grr.json").read_text("utf-8"))["good"][0]["plan"]
    program = (
        'import { Plan, freshWords } from "localdp";'
        f"const plan = Plan.parse({json.dumps(plan)});"
        'console.log(plan.batch(plan.permanent(plan.index("tea"), freshWords())).length, plan.fingerprint);'
    )
    found = run([NODE, "--input-type=module", "-e", program], tmp_path).split()
    assert found[0] == "25"
    (tmp_path / "use.ts").write_text(_USE, "utf-8")
    strict = [
        "--strict",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--types",
        "",
        "--lib",
        "es2022,dom",
    ]
    assert run([TOOLS / "tsc", *strict, "use.ts"], tmp_path) == ""


_BUILT = """
import * as built from "./dist/localdp.js";
import { read } from "./src/client/record.js";
import { runStudyVectors, STUDY_FILES } from "./test/study_vectors.js";
import { FILES, runVectors } from "./test/vectors.js";
import { readFileSync } from "node:fs";

const folder = process.argv[1];
const parsed = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
const files = Object.fromEntries(FILES.map((name) => [name, parsed(`v1/${name}`)]));
const { cases, failures } = runVectors(files, built);
failures.push(...(await runStudyVectors(STUDY_FILES.map(parsed), built)).failures);

const records = new Map();
const store = {
  change: async (name, update) => { records.set(name, update(records.get(name)) ?? records.get(name)); },
};
const sent = [];
const client = new built.Client(files.grr.good[0].plan, { store, upload: (body) => { sent.push(body.length); } });
const { delivered, waiting, pause, dropped, trouble, asked } = await client.send("tea");
const { _generation: generation, _secret: secret, _paid: paid } = read(records.get("device"));
const kept = records.get(`outbox-${client.plan.fingerprint.slice(0, 16)}`);
const box = JSON.parse(new TextDecoder().decode(kept.slice(8, -32)));
console.log(JSON.stringify({
  cases, failures, sent, delivered, waiting, pause, dropped, trouble, asked, box,
  device: [`${generation}`, secret.length, paid.size], spent: await client.spent() === client.plan.epsilon,
}));
"""


def test_the_built_module_makes_the_golden_vectors_and_stores_the_same_records(packed):
    """The build shortens names that begin with an underscore; none of them may be one that people or files use."""
    vectors = JS.parent / "vectors"
    found = json.loads(run([NODE, "--input-type=module", "-e", _BUILT, vectors], packed.parent / "js"))
    assert found.pop("cases") > 500
    assert found == {
        "failures": [],
        "sent": [25],
        "delivered": 1,
        "waiting": 0,
        "pause": 0,
        "dropped": [],
        "trouble": "",
        "asked": True,
        "box": {"pause": {"failures": 0, "ends": 0, "length": 0}, "waiting": []},
        "device": ["1", 32, 1],
        "spent": True,
    }


def test_an_error_keeps_its_name_and_code_in_the_module(packed):
    module = packed.parent / "js" / "dist" / "localdp.js"
    program = (
        f"const {{ Plan }} = await import({json.dumps(module.as_uri())});"
        'try { Plan.parse("{}") } catch (error) { console.log(`${error.name} ${error.code}: ${error.message}`) }'
    )
    found = run([NODE, "--input-type=module", "-e", program])
    assert found.startswith("PlanError bad-plan: this is not a plan")


# An app of one page: every view sends in its effect, twice as React's strict mode does, and has the element.
_APP = """
import { Client } from "localdp";
import "localdp/question";

const client = new Client(await (await fetch("/plan.json")).text(), { upload: location.origin });
const effect = (value) => Promise.all([client.sendOnce(value), client.sendOnce(value)]);
function show(view) {
  history.pushState({}, "", `/${view}`);
  const plan = `/v1/plans/${client.fingerprint}`;
  document.body.innerHTML = `<h1>${view}</h1><localdp-question plan="${plan}">What?</localdp-question>`;
}
for (const [number, view] of ["home", "recipes", "home"].entries()) {
  show(view);
  await effect(number);
}
document.querySelector("localdp-question").scrollIntoView();
window.finished = true;
"""


@needs_chromium
def test_a_bundled_app_of_one_page_sends_once(packed, tmp_path, context, server):
    run([NPM, "install", "--offline", "--no-audit", "--no-fund", packed], tmp_path)
    (tmp_path / "app.js").write_text(_APP, "utf-8")
    bundle = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning", "--outfile=out.js"]
    assert run([TOOLS / "esbuild", "app.js", *bundle], tmp_path) == ""
    server.modules["/app.js"] = (tmp_path / "out.js").read_text("utf-8")
    server.modules["/app.html"] = (
        "<!doctype html><title>app</title><link rel=icon href=/icon.svg><script type=module src=/app.js></script>"
    )
    page = opened(context, server, "/app.html")
    page.wait_for_function("() => window.finished")
    page.get_by_text("You have answered this").wait_for()
    assert len(server.uploads) == 1
    assert page.complaints == []
