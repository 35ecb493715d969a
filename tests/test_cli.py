"""The real command: what it prints, how it ends, and what it leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "localdp"


def localdp(*arguments, cwd):
    return subprocess.run(  # noqa: S603
        [COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )


def test_help_lists_the_commands_and_the_version_is_told(tmp_path):
    import localdp as ldp

    helped = localdp("--help", cwd=tmp_path)
    assert helped.returncode == 0
    for command in ("demo", "reproduce"):
        assert command in helped.stdout
    assert localdp("--version", cwd=tmp_path).stdout.strip() == ldp.__version__


def test_help_loads_nothing_heavy(tmp_path):
    code = (
        "import sys, atexit; sys.argv = ['localdp', '--help']; atexit.register(lambda: print('LOADED', *sys.modules))\n"
        "from localdp.cli import main; main()"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603
    loaded = set(shown.stdout.rpartition("LOADED")[2].split())
    assert not {"scipy", "numba", "matplotlib", "pandas", "pyarrow", "cryptography"} & loaded


def test_demo_shows_what_was_learnt_and_writes_the_report(tmp_path):
    shown = localdp("demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for word in (
        "908,576",
        "epsilon realised",
        "Calibrate, auto",
        "90% interval",
        "50,675",
        "Heavy hitters",
        "Try next",
    ):
        assert word in shown.stdout
    errors = {
        line.split("│")[1].strip(): float(line.split("│")[3])
        for line in shown.stdout.splitlines()
        if line.count("│") == 4
    }
    assert errors["oracle, told the true spectrum"] == 1.0
    assert 1.0 <= errors["Calibrate, auto (smooth)"] < errors["Calibrate, power law, likelihood"] < errors["raw"]
    assert (tmp_path / "localdp-demo" / "estimates.png").stat().st_size > 10_000
    page = (tmp_path / "localdp-demo" / "report.html").read_text("utf-8")
    assert page.count("data:image/png") == 4
    assert "http" not in page.replace("http-equiv", "")


def test_reproduce_runs_on_a_file(tmp_path):
    lines = [" ".join(str(item) for item in range(60) if item == 0 or line % (item + 1) == 0) for line in range(2_000)]
    (tmp_path / "own.dat").write_text("\n".join(lines))
    done = localdp("reproduce", "--data", "own.dat", "--trials", "1", "--quick", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "own.dat" in done.stdout
    assert (tmp_path / "run" / "index.html").is_file()
    assert "localdp reproduce --data own.dat --trials 1 --quick" in (tmp_path / "run" / "report.md").read_text()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "whole numbers separated by spaces"),
        (b"", "is empty"),
        (b"1 2 -3\n", "line 1"),
        (b"frequency,items\n5,-2\n", "line 2"),
        (b"1 2\n3,4\n5;6\n", "line 2"),
        (None, "No such file"),
    ],
)
def test_a_bad_file_is_one_line_and_code_2(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "bad.dat").write_bytes(content)
    done = localdp("reproduce", "--data", "bad.dat", "--quick", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
    assert not (tmp_path / "localdp-reproduction").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("reproduce", "--dataset", "retial"),
        ("reproduce", "--dataset", "retail", "--data", "x.dat"),
        ("reproduce", "--dataset", "retail", "--out", "."),
    ],
)
def test_bad_arguments_are_one_line_and_code_2(tmp_path, arguments):
    (tmp_path / "precious.txt").write_text("mine")
    done = localdp(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "precious.txt").exists()


@pytest.mark.parametrize("arguments", [("unknown",), ("demo", "--nothing"), ("reproduce", "--trials", "0")])
def test_a_command_that_is_not_there_says_how_to_get_help(tmp_path, arguments):
    done = localdp(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--help" in done.stderr
