"""What the documents show is what the commands do."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import DOCS

import localdp as ldp


def test_the_page_of_the_commands_is_generated_from_them():
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (DOCS / "cli.md").read_text("utf-8") == generate.page(), "run: python docs/generate_cli.py"


@pytest.mark.parametrize("name", ldp.__all__)
def test_every_public_name_is_in_the_documents(name):
    pages = [page.read_text("utf-8") for page in DOCS.glob("*.md")]
    assert any(re.search(rf"\b(ldp|localdp)\.{name}\b", page) for page in pages)


PUBLIC = {
    "localdp": ldp,
    "localdp.mechanisms": ldp.mechanisms,
    "localdp.priors": ldp.priors,
    "localdp.questions": ldp.questions,
    "localdp.checks": ldp.checks,
    "localdp.datasets": ldp.datasets,
    "localdp.engines": ldp.engines,
    "localdp.sets": ldp.sets,
    "localdp.studies": ldp.studies,
}
WHOLE = ("localdp.metrics", "localdp.plots", "localdp.errors")  # shown with everything that is in them


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_lists_everything_public(module):
    """A class that two modules offer is listed under one of them."""
    page = (DOCS / "api.md").read_text("utf-8")
    shown = {entry.rsplit(".", 1)[-1] for entry in re.findall(r"^\.\. auto\w+:: ([\w.]+)$", page, re.MULTILINE)}
    modules = {name.rsplit(".", 1)[-1] for name in (*PUBLIC, *WHOLE)}
    assert set(PUBLIC[module].__all__) - modules - set(vars(ldp.errors)) <= shown


def test_the_reference_says_once_how_stable_each_name_is():
    page = (DOCS / "api.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.split("## Plans")[0].splitlines() if line.startswith("| ")]
    named = [name for row in rows[1:] for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(ldp.__all__)


@pytest.mark.parametrize("module", WHOLE)
def test_the_reference_shows_whole_modules(module):
    assert f".. automodule:: {module}\n   :members:\n" in (DOCS / "api.md").read_text("utf-8")


def transcript(text):
    """The commands in the console blocks, each with the lines it is shown to print."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            here = re.match(r"(.*<<END\n.*?^END\n)(.*)", piece, re.DOTALL | re.MULTILINE)
            command, shown = here.groups() if here else piece.split("\n", 1)
            yield command, shown.splitlines()


def skeleton(line):
    """A line without its figures: the noise is secure, so they differ from run to run."""
    return re.sub(r"\s+", " ", re.sub(r"-?\d[\d,]*(\.\d+)?", "#", line)).strip()


def test_the_tutorial_does_what_it_shows(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = []
    for command, shown in transcript((DOCS / "tutorial.md").read_text("utf-8")):
        done = subprocess.run(  # noqa: S603
            ["bash", "-c", command],  # noqa: S607
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        if command.startswith("localdp plan"):
            assert done.stdout.splitlines() == shown
        printed = sorted(map(skeleton, done.stdout.splitlines()))
        expected = sorted(skeleton(line) for line in shown if line != "...")
        if "..." in shown:
            assert set(expected) <= set(printed), command
        else:
            assert printed == expected, command
        ran.append(command.split()[1])
    assert ran[2:] == ["plan", "privatize", "aggregate", "estimate", "hitters"]
    for name in ("estimates.csv", "estimates.png", "hitters.png"):
        assert (tmp_path / name).stat().st_size > 1_000
