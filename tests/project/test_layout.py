"""The tree of the package is the one that CONTRIBUTING describes, and files stay small."""

from __future__ import annotations

import ast
import re

import pytest
from paths import ROOT

PACKAGE = ROOT / "src" / "localdp"
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
SOURCES = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]


def _mapped():
    """The files of each folder, as the table in CONTRIBUTING has them."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w/]+)/` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    return {place.removeprefix("localdp"): re.findall(r"`(\w+)`", files) for place, files in rows}


def test_the_map_is_complete():
    tree = {
        "/".join(folder.relative_to(PACKAGE).parts): sorted(
            path.stem for path in folder.glob("*.py") if path.stem != "__init__"
        )
        for folder in FOLDERS
    }
    assert _mapped() == tree


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_folder_says_in_one_line_what_it_holds(folder):
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
    assert docstring
    assert docstring.split("\n\n")[0].endswith(".")
    assert "\n" not in docstring.split("\n\n")[0]


def test_no_file_is_longer_than_400_lines():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_the_steps_of_the_pipeline_are_found_by_the_folders_first_lines():
    first_lines = {
        folder.name: ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) for folder in FOLDERS
    }
    for step, place in {
        "Encode": "mechanisms",
        "Perturb": "mechanisms",
        "Aggregate": "plan",
        "Estimate": "estimate",
        "Calibrate": "calibrate",
        "Heavy hitters": "hitters",
    }.items():
        assert step.lower() in first_lines[place].split("\n")[0].lower()
