"""The real command: what it prints, how it ends, and what it leaves behind."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

import pyarrow.feather
import pyarrow.parquet
import pytest
from command import COMMAND, localdp

import localdp as ldp

COMMANDS = ("demo", "advise", "plan", "privatize", "aggregate", "estimate", "hitters", "reproduce", "bench")


def test_help_lists_the_commands_and_the_version_is_told(tmp_path):
    helped = localdp("--help", cwd=tmp_path)
    assert helped.returncode == 0
    for command in COMMANDS:
        assert command in helped.stdout
    assert localdp("--version", cwd=tmp_path).stdout.strip() == ldp.__version__


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
    assert "<th></th>" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_reproduce_runs_on_a_file(tmp_path):
    lines = [" ".join(str(item) for item in range(60) if item == 0 or line % (item + 1) == 0) for line in range(2_000)]
    (tmp_path / "own.dat").write_text("\n".join(lines))
    done = localdp("reproduce", "--data", "own.dat", "--trials", "1", "--quick", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "own.dat" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 80
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
        ("demo", "--out", "precious.txt"),
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


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """A folder with items, values, a plan, reports and an aggregate, each made by its command."""
    folder = tmp_path_factory.mktemp("collected")
    frequencies = [max(1, 3_000 // rank) for rank in range(1, 201)]
    names = [f"product {rank}" for rank in range(200)]
    (folder / "items.csv").write_text("name\n" + "\n".join(names) + "\n")
    values = [name for name, count in zip(names, frequencies, strict=True) for _ in range(count)]
    (folder / "values.csv").write_text("day,name\n" + "\n".join(f"mon,{value}" for value in values) + "\n")
    steps = (
        ("plan", "items.csv", "--epsilon", "4", "-o", "plan.json"),
        ("privatize", "values.csv", "--plan", "plan.json", "--column", "name", "-o", "reports.parquet"),
        ("privatize", "values.csv", "--plan", "plan.json", "--column", "name", "-o", "reports.csv"),
        ("privatize", "values.csv", "--plan", "plan.json", "--column", "name", "-o", "reports.arrow"),
        ("aggregate", "reports.parquet", "--plan", "plan.json", "-o", "counts.agg"),
        ("plan", "--size", "9", "-o", "other.json"),
    )
    for step in steps:
        done = localdp(*step, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    return folder


def test_the_pipeline_estimates_what_people_hold(collected, tmp_path):
    done = localdp(
        "estimate", collected / "counts.agg", "-o", "all.parquet", "--plot", "top.svg", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert rows[0]["item"] == "product 0"
    assert abs(rows[0]["calibrated"] - 3_000) < 500
    assert pyarrow.parquet.read_table(tmp_path / "all.parquet").num_rows == 200
    assert (tmp_path / "top.svg").read_text().startswith("<?xml")
    shown = localdp("estimate", collected / "counts.agg", "--top", "30", "--prior", "power-law", cwd=tmp_path).stdout
    assert len(shown.splitlines()) == 32
    assert "calibrated by power-law" in shown
    noted = localdp("estimate", collected / "counts.agg", cwd=tmp_path).stderr
    assert noted.startswith("auto chose")
    assert max(map(len, noted.splitlines())) < 80


def test_files_of_reports_and_aggregates_add_up(collected, tmp_path):
    parts = [collected / name for name in ("reports.csv", "reports.parquet", "reports.arrow", "counts.agg")]
    done = localdp("aggregate", *parts, "-p", collected / "plan.json", "-o", "all.agg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, four = (ldp.Aggregate.load(path) for path in (collected / "counts.agg", tmp_path / "all.agg"))
    assert four.n == 4 * one.n


def test_values_and_items_and_estimates_in_arrow_files(collected, tmp_path):
    names = [f"product {rank}" for rank in range(200)]
    pyarrow.feather.write_feather(pyarrow.table({"name": names}), tmp_path / "items.feather")
    pyarrow.feather.write_feather(pyarrow.table({"day": [1] * 2_000, "name": names * 10}), tmp_path / "values.arrow")
    steps = (
        ("plan", "items.feather", "--epsilon", "4", "-o", "plan.json"),
        ("privatize", "values.arrow", "-p", "plan.json", "-c", "name", "-o", "reports.arrow"),
        ("aggregate", "reports.arrow", "-p", "plan.json", "-o", "counts.agg"),
        ("estimate", "counts.agg", "-o", "all.arrow"),
    )
    for step in steps:
        done = localdp(*step, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan.json").read_bytes() == (collected / "plan.json").read_bytes()
    assert ldp.Aggregate.load(tmp_path / "counts.agg").n == 2_000
    with pyarrow.ipc.open_file(tmp_path / "all.arrow") as file:
        assert file.read_all().num_rows == 200


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_reports_that_were_cut_short_are_one_line_and_leave_nothing(collected, tmp_path, kind):
    whole = (collected / f"reports.{kind}").read_bytes()
    (tmp_path / f"cut.{kind}").write_bytes(whole[: len(whole) // 2])
    done = localdp("aggregate", f"cut.{kind}", "-p", collected / "plan.json", "-o", "x.agg", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "file that can be read" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"cut.{kind}"]


def test_reports_are_made_a_piece_at_a_time_however_many_values_are_read_at_once(tmp_path, monkeypatch):
    from localdp.cli import privatize
    from localdp.files import columns

    plan = ldp.Plan(800, "oue", 1.0)
    (tmp_path / "plan.json").write_text(plan.to_json())
    (tmp_path / "values.csv").write_text("item\n" + "7\n" * 1050)
    sizes, made = [], ldp.Plan.privatize_indices
    monkeypatch.setattr(columns, "PIECE_BYTES", 100 * plan.mechanism.report_bytes)
    monkeypatch.setattr(ldp.Plan, "privatize_indices", lambda self, part: sizes.append(len(part)) or made(self, part))
    privatize.command(tmp_path / "values.csv", tmp_path / "plan.json", tmp_path / "reports.parquet")
    assert sizes == [100] * 10 + [50]
    assert pyarrow.parquet.read_table(tmp_path / "reports.parquet").num_rows == 1050


def test_hitters_by_rule_and_top(collected, tmp_path):
    counts = collected / "counts.agg"
    by_share = localdp("hitters", counts, "-t", "5%", "--rule", "mean", cwd=tmp_path)
    assert "product 0" in by_share.stdout
    assert "(rule mean)" in by_share.stdout
    assert "(rule fdr 0.2)" in localdp("hitters", counts, "-t", "200", "--fdr", "0.2", cwd=tmp_path).stdout
    top = localdp("hitters", counts, "--top", "4", "--json", "-o", "top.json", "--plot", "top.png", cwd=tmp_path)
    assert len(json.loads(top.stdout)) == 4
    assert json.loads((tmp_path / "top.json").read_text()) == json.loads(top.stdout)
    assert (tmp_path / "top.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.parquet"), "has 2 columns"),
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.parquet", "-c", "nome"), "no column 'nome'"),
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.parquet", "-c", "day"), "row 1 of"),
        (("privatize", "{}/values.csv", "-p", "{}/other.json", "-o", "r.parquet", "-c", "name"), "row 1 of"),
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.xlsx", "-c", "name"), "neither a .csv"),
        (("privatize", "{}/values.csv", "-p", "{}/values.csv", "-o", "r.csv", "-c", "name"), "values.csv: this is not"),
        (("privatize", "{}/none.csv", "-p", "{}/plan.json", "-o", "r.csv"), "No such file"),
        (("privatize", "{}/none.parquet", "-p", "{}/plan.json", "-o", "r.csv"), "none.parquet: No such"),
        (("aggregate", "{}/reports.parquet", "-p", "{}/other.json", "-o", "x.agg"), "made under plan"),
        (("aggregate", "{}/counts.agg", "-p", "{}/other.json", "-o", "x.agg"), "counts.agg holds reports made under"),
        (("aggregate", "{}/reports.arrow", "-p", "{}/other.json", "-o", "x.agg"), "made under plan"),
        (
            ("aggregate", "{}/reports.csv", "{}/none.parquet", "-p", "{}/plan.json", "-o", "x.agg"),
            "none.parquet: No such",
        ),
        (("aggregate", "{}/counts.txt", "-p", "{}/plan.json", "-o", "x.agg"), "counts.txt: No such"),
        (("aggregate", "{}/plan.json", "-p", "{}/plan.json", "-o", "x.agg"), ".arrow nor .agg file"),
        (("aggregate", "{}/reports.csv", "-p", "{}/plan.json", "-o", "x.txt"), "an aggregate is a .agg file"),
        (("aggregate", "{}/values.csv", "-p", "{}/plan.json", "-o", "x.agg"), "no column 'plan'"),
        (("aggregate", "{}/reports.csv", "-p", "{}/plan.json", "-o", "nowhere/x.agg"), "no folder"),
        (("estimate", "{}/values.csv"), "not a saved aggregate"),
        (("estimate", "{}/counts.agg", "--prior", "powerlaw"), "powerlaw"),
        (("estimate", "{}/counts.agg", "--plot", "x.jpeg"), "a picture is a"),
        (("hitters", "{}/counts.agg", "-t", "many"), "'many'"),
        (("hitters", "{}/counts.agg", "--rule", "mean", "--fdr", "0.1"), "fdr is the level"),
        (("hitters", "{}/counts.agg", "--top", "500"), "from 1 to 200"),
        (("hitters", "{}/counts.agg", "--top", "5", "-t", "10"), "takes no threshold"),
        (("hitters", "{}/counts.agg", "--rule", "f1", "--fdr", "0.1"), "fdr is the level"),
        (("hitters", "{}/counts.agg", "-t", "0,5"), "'0,5'"),
        (("estimate", "{}/counts.agg", "-o", "ok.csv", "--plot", "nowhere/x.png"), "no folder"),
        (("estimate", "{}/counts.agg", "-o", ".json"), "neither"),
        (("aggregate", "{}/reports.csv", "{}/../collected0/reports.csv", "-p", "{}/plan.json", "-o", "x.agg"), "twice"),
        (
            ("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "{}/values.csv", "-c", "name", "--force"),
            "replace",
        ),
        (("estimate", "{}/counts.agg", "-o", "x.txt"), ".arrow nor .json file"),
        (("plan",), "needs a file with the items or --size"),
        (("plan", "{}/none.parquet"), "none.parquet: No such"),
        (("plan", "{}/counts.agg"), ".arrow nor .txt file"),
        (("plan", "--size", "9", "-c", "name"), "--size goes without"),
        (("plan", "{}/items.csv", "-e", "17"), "epsilon"),
        (("plan", "{}/items.csv", "-m", "rappor"), "RAPPOR"),
        (("plan", "{}/values.csv", "-c", "day"), "at least two items"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_leaves_nothing(collected, tmp_path, arguments, sentence):
    done = localdp(*(part.format(collected) for part in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_exists_is_kept_unless_forced(collected, tmp_path):
    for name, command in (
        ("plan.json", ("plan", "--size", "5")),
        ("r.parquet", ("privatize", collected / "values.csv", "-c", "name", "-p", collected / "plan.json")),
        ("x.agg", ("aggregate", collected / "reports.csv", "-p", collected / "plan.json")),
        ("e.csv", ("estimate", collected / "counts.agg")),
        ("h.json", ("hitters", collected / "counts.agg")),
    ):
        (tmp_path / name).write_text("mine")
        refused = localdp(*command, "-o", name, cwd=tmp_path)
        assert refused.returncode == 2
        assert "exists" in refused.stderr
        assert (tmp_path / name).read_text() == "mine"
        assert localdp(*command, "-o", name, "--force", cwd=tmp_path).returncode == 0
        assert (tmp_path / name).read_bytes() != b"mine"


def test_strange_names_are_shown_safely_and_kept_as_they_are(tmp_path):
    names = ["$x_{$", "tea\x1b[31m", "日本", "$5 - $10", "x" * 200]
    (tmp_path / "items.txt").write_text("\ufeff" + "\n".join(names) + "\n", "utf-8")
    (tmp_path / "values.csv").write_text("item\n" + "\n".join(names * 400) + "\n\n", "utf-8")
    steps = (
        ("plan", "items.txt", "-o", "plan.json", "-e", "3"),
        ("privatize", "values.csv", "-p", "plan.json", "-o", "r.parquet"),
        ("aggregate", "r.parquet", "-p", "plan.json", "-o", "c.agg"),
        ("estimate", "c.agg", "--plot", "e.png", "-o", "e.csv"),
    )
    for step in steps:
        done = localdp(*step, cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
    assert "2,000 users" in done.stdout
    assert all(name in (tmp_path / "e.csv").read_text("utf-8") for name in names)


def test_places_that_are_no_files_are_kept(collected, tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    for name, code in (("pipe.json", 2), ("folder.json", 2), ("link.json", 0)):
        done = localdp("plan", collected / "items.csv", "-o", name, "--force", cwd=tmp_path)
        assert done.returncode == code
        assert len(done.stderr.splitlines()) == code // 2
    assert (tmp_path / "pipe.json").is_fifo()
    assert (tmp_path / "link.json").is_symlink()
    assert "localdp-plan" in (tmp_path / "real.json").read_text()


def test_nothing_asked_shows_the_help(tmp_path):
    done = localdp(cwd=tmp_path)
    assert done.returncode == 2
    assert "Usage" in done.stdout + done.stderr
    assert "; see" not in done.stderr


def test_unknown_values_are_dropped_and_counted_when_asked(collected, tmp_path):
    (tmp_path / "some.csv").write_text("name\nproduct 1\nnothing\nproduct 2\n")
    command = ("privatize", "some.csv", "-p", collected / "plan.json", "-o", "r.csv")
    refused = localdp(*command, cwd=tmp_path)
    assert refused.returncode == 2
    assert "row 2 of some.csv" in refused.stderr
    dropped = localdp(*command, "--unknown", "drop", cwd=tmp_path)
    assert dropped.returncode == 0
    assert "1 value was not an item" in dropped.stdout
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 3


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "values.csv"
    path.write_text("name\n" + "product 7\nproduct 123\n" * 3_000_000)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_a_full_disk_is_one_line_code_1_and_leaves_nothing(collected, large, tmp_path, kind):
    """The limit on the size of a file stands in for the disk: both fail in the middle of a write."""
    command = [COMMAND, "privatize", large, "-p", collected / "plan.json", "-o", f"r.{kind}"]
    limit = (
        "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (99_999, 99_999));"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", limit, *map(str, command)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_interrupting_is_one_line_code_130_and_leaves_nothing(collected, large, tmp_path):
    command = [COMMAND, "privatize", large, "-p", collected / "plan.json", "-o", "r.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        while not list(tmp_path.iterdir()) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        shown = process.communicate()[1]
    assert process.returncode == 130
    assert len(shown.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [3, 200])
def test_a_pipe_that_nobody_reads_ends_quietly(collected, tmp_path, rows):
    line = f"('{COMMAND}' estimate '{collected}/counts.agg' --json --top {rows}; echo code $? >&2) | true"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603, S607
    assert re.fullmatch(r"code [01]\n", done.stderr)
