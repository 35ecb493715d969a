// A store in a folder, for Node: `import { fileStore } from "localdp/node"`.
//
//     <name>.<number>   a record; the one with the largest number counts
//     <name>.<random>~  a record that is being written
//
// A change writes the record beside its place, flushes it to the disk, and then links it to the next number. Of several
// processes that try this at the same time one succeeds; the others find the number taken, read again and try again. So there is
// no lock that a killed process could leave behind. Old numbers are removed afterwards, except for the last few, which are emptied: a
// process that was slow between reading and writing must find out that it was, and what was forgotten must be gone. The folder is flushed after the link, and once more by whoever
// finds a record of another process, which may have been killed in between.
//
// Whoever knows the secret of a device can read its reports, so the folder and every record must belong to the user that runs
// this program, and nobody else may write to the folder: otherwise the secret could be one that somebody else has put there.
//
// A folder without the record of a device, but with something else that a device keeps, is refused: a new device would spend
// epsilon anew. (The first record of a device is linked before any other is written.)

/// <reference types="node" />
import { chmod, link, mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

const MOST_ATTEMPTS = 1_000;
const KEPT = 4; // numbers
const DEVICE = "device"; // the name of the record with the secret and the payments
// What a device keeps beside its record; also what the Python client keeps, which has other files.
const OF_A_DEVICE = /^(device(\.copy)?|outbox(-[0-9a-f]+\..+)?|diary\..+|answered|discoveries|studies|surveys)$/;
// All of that, and records whole or unfinished, of either language.
const OURS = /^(device(\.copy)?|\.device.*|lock|outbox|discoveries|studies|surveys|[a-z0-9-]+\.(\d+|[0-9a-f-]+~))$/;
const OTHERS = 0o077; // permissions of everybody but the owner
const OTHERS_WRITE = 0o022;
const LEFTOVER_AFTER = 60_000; // milliseconds after which an unfinished file belongs to a process that was killed

/**
 * @param {string} folder is made if it is missing; only its owner can read it. One that belongs to another user, or that others
 *   may write to, is refused
 * @returns {import("./client/store.js").Store}
 */
export function fileStore(folder) {
  /** The number of each record whose name is known to be on the disk. @type {Map<string, number>} */
  const flushed = new Map();
  return {
    async change(name, update) {
      if (!/^[a-z0-9-]+$/.test(name)) throw new Error(`a record is not named ${name}`);
      await makeFolder(resolve(folder));
      await checkPrivate(folder);
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const numbers = await numbersOf(folder, name);
        const newest = numbers.at(-1) ?? 0;
        const before = newest ? await contentOf(join(folder, `${name}.${newest}`)) : undefined;
        if (newest && !before) continue; // removed, because a newer one was written meanwhile
        if (before?.length === 0 && (await numbersOf(folder, name)).at(-1) !== newest) continue; // emptied, for the same reason
        if (!newest && name === DEVICE && (await readdir(folder)).some((file) => OF_A_DEVICE.test(file))) {
          if ((await numbersOf(folder, name)).length) continue; // another process is making the device at this moment
          throw new Error(
            `${folder} has files of a device, and its record is gone, so nobody knows what it has spent. Bring back the files from a ` +
              "backup. Removing the whole folder makes a new device, which spends epsilon anew",
          );
        }
        const after = update(before);
        if (after && !(await isWritten(folder, name, newest + 1, after))) continue;
        // Whoever finds a payment of another process gives out a report for it, and that process may have been killed before it flushed.
        if (!after && newest && flushed.get(name) !== newest) await flushFolder(folder);
        flushed.set(name, newest + (after ? 1 : 0));
        return;
      }
      throw new Error(`other processes changed ${folder} all the time`);
    },
  };
}

/**
 * Write a record under a number, unless somebody else did.
 * @param {string} folder
 * @param {string} name
 * @param {number} number
 * @param {Uint8Array} bytes
 */
async function isWritten(folder, name, number, bytes) {
  const unfinished = join(folder, `${name}.${crypto.randomUUID()}~`);
  try {
    await writeFlushed(unfinished, bytes);
    await link(unfinished, join(folder, `${name}.${number}`));
  } catch (error) {
    if (/** @type {any} */ (error).code === "EEXIST") return false;
    throw error;
  } finally {
    await unlink(unfinished).catch(() => {});
  }
  await flushFolder(folder);
  // If a larger number is there, either somebody went on from ours, or the number was taken before, outdated and removed. We
  // cannot tell which, so we look again.
  const numbers = await numbersOf(folder, name);
  if (numbers.at(-1) !== number) return false;
  await removeOld(folder, name, numbers.slice(0, -KEPT));
  if (numbers.length > 1) await empty(join(folder, `${name}.${numbers.at(-2)}`));
  return true;
}

/**
 * The numbers of a record, in ascending order.
 * @param {string} folder
 * @param {string} name
 */
async function numbersOf(folder, name) {
  const numbers = (await readdir(folder))
    .filter((file) => file.startsWith(`${name}.`) && /\.\d+$/.test(file))
    .map((file) => Number(file.slice(name.length + 1)));
  return numbers.sort((a, b) => a - b);
}

/**
 * Refuse a folder that somebody else owns, or can put files into. One that others can read becomes private if it holds nothing
 * else: sizes and times of records tell how many values were paid for, and when.
 * @param {string} folder
 */
async function checkPrivate(folder) {
  const { mode, uid } = await stat(folder);
  checkOwner(folder, uid);
  if (process.geteuid && mode & OTHERS_WRITE) {
    throw new Error(
      `other users may write to ${folder}, and could change what this device has spent; take that away with: chmod go-w ${folder}`,
    );
  }
  if (process.geteuid && mode & OTHERS && (await readdir(folder)).every((name) => OURS.test(name))) {
    await chmod(folder, 0o700).catch(() => {}); // a read-only disk can be used nevertheless
  }
}

/**
 * @param {string} path
 * @param {number} uid
 */
function checkOwner(path, uid) {
  const own = process.geteuid?.() ?? uid; // Windows has no such numbers
  if (uid !== own) {
    throw new Error(
      `${path} belongs to another user (number ${uid}, and this program runs as number ${own}), who could know its secret; run ` +
        "the program as that user, choose another folder, or make it yours with chown",
    );
  }
}

/**
 * What a file holds; undefined if there is none. Permissions for other users are taken away.
 * @param {string} path
 */
async function contentOf(path) {
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (/** @type {any} */ (error).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { mode, uid } = await file.stat();
    checkOwner(path, uid);
    if (process.geteuid && mode & OTHERS) await file.chmod(0o600).catch(() => {}); // a read-only disk can be used nevertheless
    return new Uint8Array(await file.readFile());
  } finally {
    await file.close();
  }
}

/**
 * @param {string} path
 * @param {Uint8Array} bytes
 */
async function writeFlushed(path, bytes) {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Make a folder, and those above it. When this is fulfilled, they are on the disk. (Node's own way never ends where a
 * file system takes no folders.)
 * @param {string} folder
 */
async function makeFolder(folder) {
  const make = () => mkdir(folder, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const { code } = /** @type {any} */ (error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await make().catch((again) => {
      if (again.code !== "EEXIST") throw again; // somebody else may have made it
    });
  }
  await flushFolder(dirname(folder));
}

/** @param {string} folder */
async function flushFolder(folder) {
  if (process.platform === "win32") return; // which has no such thing
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Put an empty file in the place of an old record. Whoever reads it at this moment reads it to its end.
 * @param {string} path
 */
async function empty(path) {
  const unfinished = `${path.slice(0, path.lastIndexOf("."))}.${crypto.randomUUID()}~`;
  try {
    await (await open(unfinished, "wx", 0o600)).close();
    await rename(unfinished, path);
  } catch {
    await unlink(unfinished).catch(() => {}); // a full disk, or Windows while somebody reads it
  }
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {number[]} numbers
 */
async function removeOld(folder, name, numbers) {
  for (const number of numbers) await unlink(join(folder, `${name}.${number}`)).catch(() => {});
  for (const file of await readdir(folder)) {
    if (!file.startsWith(`${name}.`) || !file.endsWith("~")) continue;
    const path = join(folder, file);
    const made = await stat(path).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > LEFTOVER_AFTER) await unlink(path).catch(() => {});
  }
}
