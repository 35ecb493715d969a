"""Help, the version, and what is said about commands that do not exist."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from contextlib import nullcontext

import pytest
from command import localdp

import localdp as ldp
from localdp.cli import main

COMMANDS = (
    *("demo", "advise", "plan", "privatize", "report", "aggregate", "estimate", "hitters", "serve", "reproduce"),
    "bench",
)


def test_help_lists_the_commands_and_the_version_is_told(tmp_path):
    helped = localdp("--help", cwd=tmp_path, fresh=True)
    assert helped.returncode == 0
    for command in COMMANDS:
        assert command in helped.stdout
    assert localdp("--version", cwd=tmp_path, fresh=True).stdout.strip() == ldp.__version__


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_fits_80_columns_and_shows_flags_without_a_value(tmp_path, command):
    shown = localdp(*command, "--help", cwd=tmp_path, environment={"COLUMNS": "80"}).stdout
    assert not re.search(r"…|<bool>", shown)
    for paragraph in re.split(r"\n\s*\n", shown.partition("╭")[0].strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        for line, after in itertools.pairwise(lines):
            assert len(line) + 1 + len(after.split()[0]) > 70, f"broken early: {line}"
    assert not command or re.search(rf"^ Example: localdp {command[0]}.*\n *\n", shown, re.MULTILINE)


def test_help_loads_nothing_heavy(tmp_path):
    code = (
        "import sys, atexit; sys.argv = ['localdp', '--help']; atexit.register(lambda: print('LOADED', *sys.modules))\n"
        "from localdp.cli import main; main()"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603
    loaded = set(shown.stdout.rpartition("LOADED")[2].split())
    heavy = {"scipy", "numba", "matplotlib", "jinja2", "pandas", "pyarrow", "cryptography"}
    assert not (heavy | {"sqlite3", "starlette", "uvicorn"}) & loaded


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("3", "3")])
def test_commands_compute_with_one_thread_of_blas_unless_told(monkeypatch, given, kept):
    """Several threads for small matrices are many times the work while other programs run."""
    seen = []
    monkeypatch.setattr("localdp.cli.app.run", lambda: seen.append(os.environ["OPENBLAS_NUM_THREADS"]))
    monkeypatch.setattr("localdp.cli.signals.quiet_while_importing", nullcontext)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    main()
    assert seen == [kept]


def test_nothing_asked_shows_the_help(tmp_path):
    done = localdp(cwd=tmp_path, fresh=True)
    assert done.returncode == 2
    assert "Usage" in done.stdout + done.stderr
    assert "; see" not in done.stderr


@pytest.mark.parametrize("arguments", [("unknown",), ("demo", "--nothing"), ("estimate",)])
def test_a_command_that_is_not_there_says_how_to_get_help(tmp_path, arguments):
    done = localdp(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--help" in done.stderr


def test_the_command_is_also_a_module(tmp_path):
    line = [sys.executable, "-m", "localdp", "--version"]
    shown = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603
    assert shown.stdout.strip() == ldp.__version__
