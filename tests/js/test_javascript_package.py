"""The JavaScript package: its types, its size, and the tarball that people install."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest
from node_tools import JS, NODE, NPM, TOOLS, needs_packages, run

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
    (folder / "js" / "node_modules").symlink_to(JS / "node_modules")
    run([NPM, "pack", "--pack-destination", folder], folder / "js")
    (tarball,) = folder.glob("localdp-*.tgz")
    return tarball


def test_the_types_are_checked_strictly():
    assert run([TOOLS / "tsc", "-p", ".", "--noEmit"]) == ""
    options = json.loads((JS / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    assert options["strict"]
    assert options["checkJs"]


def test_the_module_has_less_than_12_kilobytes_and_no_dependencies(packed):
    module = (packed.parent / "js" / "dist" / "localdp.js").read_bytes()
    assert len(gzip.compress(module, 9, mtime=0)) < 12_000
    assert b"import" not in module.replace(b"import.meta", b"")
    assert "dependencies" not in json.loads((JS / "package.json").read_text("utf-8"))


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
import { FILES, runVectors } from "./test/vectors.js";
import { readFileSync } from "node:fs";

const folder = process.argv[1];
const parsed = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
const files = Object.fromEntries(FILES.map((name) => [name, parsed(name)]));
const { cases, failures } = runVectors(files, built);

const records = new Map();
const store = {
  change: async (name, update) => { records.set(name, update(records.get(name)) ?? records.get(name)); },
};
const sent = [];
const client = new built.Client(files.grr.good[0].plan, { store, upload: (body) => { sent.push(body.length); } });
const { delivered, waiting, pause, dropped, trouble } = await client.send("tea");
const { _generation: generation, _secret: secret, _paid: paid } = read(records.get("device"));
const kept = records.get(`outbox-${client.plan.fingerprint.slice(0, 16)}`);
const box = JSON.parse(new TextDecoder().decode(kept.slice(8, -32)));
console.log(JSON.stringify({
  cases, failures, sent, delivered, waiting, pause, dropped, trouble, box,
  device: [`${generation}`, secret.length, paid.size], spent: await client.spent() === client.plan.epsilon,
}));
"""


def test_the_built_module_makes_the_golden_vectors_and_stores_the_same_records(packed):
    """The build shortens names that begin with an underscore; none of them may be one that people or files use."""
    vectors = JS.parent / "vectors" / "v1"
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
