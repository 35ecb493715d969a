"""What people are told to install exists: localdp is on no package index, so it is installed from a clone.

Whoever registered the name on an index could run their own code on the machines of those who follow such a hint.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from paths import ROOT

HERE = "tests/project/test_install_hints.py"
BY_NAME = re.compile(
    r"(?:pip|pipx|uv|uvx|npm)\d? (?:install|add|run|wheel|download)"  # a command,
    r"(?: +(?!in\b|#)[^\s`;|&]+)*?"  # options and other packages up to the end of it,
    r" +['\"]?localdp(?![\w/-]|\.\w)"  # and the name, which is not that of a folder
)
EXTRA_BY_NAME = re.compile(r"(?<![\w./-])localdp\[")
NAMED_HERE = {"pyproject.toml"}  # extras of the package that name each other


def _files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    names = [name for name in listed.stdout.split("\0") if name] or [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()
    ]
    return [name for name in names if not re.search(r"(^|/)(\.git|\.venv|node_modules|dist|build)/", name)]


def hints(text):
    """The places where a text installs localdp by its name."""
    return [found[0] for pattern in (BY_NAME, EXTRA_BY_NAME) for found in pattern.finditer(text)]


def test_no_file_installs_localdp_by_its_name():
    found = []
    for name in _files():
        if name == HERE or name in NAMED_HERE or not (ROOT / name).is_file():
            continue
        try:
            text = (ROOT / name).read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a packed file
        if name.startswith(("js/", "tests/js/")):
            text = text.replace("localdp[store]", "")  # a property of the module of that name
        found += [f"{name}: {hint}" for hint in hints(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install localdp", True),
        ("pip install 'localdp[collector]'", True),
        ("/opt/localdp/bin/pip install --upgrade 'localdp[collector,fast]'", True),
        ("whoever installs `localdp[plots]`", True),
        ("pip install --quiet localdp==1.0", True),
        ("npm install localdp", True),
        ("Install with pip install localdp. The folder", True),
        ("pip install '.[collector]'", False),
        ("pip install './localdp[collector]'", False),
        ("/opt/localdp/bin/pip install '/opt/localdp-source[collector]'", False),
        ("/opt/localdp/bin/pip install '.[collector,fast]'", False),
        ("pip install '.[spark]' in a clone of localdp's repository", False),
        ("pip install . multi-freq-ldpy==0.2.5", False),
    ],
)
def test_the_hints_that_would_be_found(text, wrong):
    assert bool(hints(text)) is wrong
