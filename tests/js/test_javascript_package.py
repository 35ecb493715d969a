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


def test_the_module_has_less_than_13_kilobytes_and_no_dependencies(packed):
    module = (packed.parent / "js" / "dist" / "localdp.js").read_bytes()
    assert len(gzip.compress(module, 9, mtime=0)) < 13_000
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


def test_an_error_keeps_its_name_and_code_in_the_module(packed):
    module = packed.parent / "js" / "dist" / "localdp.js"
    program = (
        f"const {{ Plan }} = await import({json.dumps(module.as_uri())});"
        'try { Plan.parse("{}") } catch (error) { console.log(`${error.name} ${error.code}: ${error.message}`) }'
    )
    found = run([NODE, "--input-type=module", "-e", program])
    assert found.startswith("PlanError bad-plan: this is not a plan")
