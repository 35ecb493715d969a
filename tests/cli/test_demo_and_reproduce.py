"""The commands that run the paper's data: what they print and write, and what they refuse."""

from __future__ import annotations

import re

import pytest
from command import localdp


@pytest.mark.slow
def test_demo_shows_what_was_learnt_and_writes_the_report(tmp_path):
    shown = localdp("demo", cwd=tmp_path, fresh=True)
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
    assert errors["oracle (knows the true distribution)"] == 1.0
    assert 1.0 <= errors["Calibrate, auto"] < errors["Calibrate, power law, max. likelihood"] < errors["raw"]
    assert (tmp_path / "localdp-demo" / "estimates.png").stat().st_size > 10_000
    page = (tmp_path / "localdp-demo" / "report.html").read_text("utf-8")
    assert page.count("data:image/png") == 4
    assert "<th></th>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in page


@pytest.mark.slow
def test_reproduce_runs_on_a_file(tmp_path):
    lines = [" ".join(str(item) for item in range(60) if item == 0 or line % (item + 1) == 0) for line in range(2_000)]
    (tmp_path / "own.dat").write_text("\n".join(lines))
    command = ("reproduce", "--data", "own.dat", "--trials", "1", "--quick", "--out", "run")
    done = localdp(*command, cwd=tmp_path, fresh=True)
    assert done.returncode == 0, done.stderr
    assert "own.dat" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 80
    verdicts = re.findall("^  (\\w[\\w ]*): +(here|mean-variance|mle): ", done.stdout, re.MULTILINE)
    assert {word for word, _ in verdicts} <= {
        "holds",
        "holds in part",
        "does not hold",
        "tie",
        "not tried",
        "too few trials",
    }
    sources = [source for _, source in verdicts]
    assert sources.count("mean-variance") == sources.count("mle") > 5
    assert sources.count("here") > 5
    said = " ".join(done.stdout.split())
    assert re.search(r"Gain at epsilon \d, the paper: Calibrate improves on Zero", said)
    assert said.count(", the paper: ") == sources.count("here") + sources.count("mle")
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
    ("arguments", "sentence"),
    [
        (("reproduce", "--dataset", "retial"), "retial"),
        (("reproduce", "--dataset", "retail", "--data", "x.dat"), "either --dataset or --data, not both"),
        (("reproduce", "--dataset", "retail", "--out", "."), "did not write: choose another folder"),
        (("demo", "--out", "precious.txt"), "precious.txt: this is not a folder"),
        (("bench", "--quick", "--out", "precious.txt"), "precious.txt: the file exists already"),
    ],
)
def test_bad_arguments_are_one_line_and_code_2(tmp_path, arguments, sentence):
    (tmp_path / "precious.txt").write_text("mine")
    done = localdp(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
    assert (tmp_path / "precious.txt").exists()
