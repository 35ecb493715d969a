"""Input that cannot be used ends in one line, code 2 and no file."""

from __future__ import annotations

import os

import pytest
from command import localdp


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.parquet"),
            "say which holds the items, such as --column '",
        ),
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.parquet", "-c", "nome"), "no column 'nome'"),
        (
            ("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.parquet", "-c", "day"),
            "row 1 below the header of",
        ),
        (
            ("privatize", "{}/values.csv", "-p", "{}/other.json", "-o", "r.parquet", "-c", "name"),
            "row 1 below the header of",
        ),
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.xlsx", "-c", "name"), "neither a .csv"),
        (("privatize", "{}/values.csv", "-p", "{}/values.csv", "-o", "r.csv", "-c", "name"), "values.csv: this is not"),
        (
            ("privatize", "{}/none.csv", "-p", "{}/plan.json", "-o", "r.csv"),
            "No such file or directory; it was looked for in {}",
        ),
        (("privatize", "{}/no/a.csv", "-p", "{}/plan.json", "-o", "r.csv"), "directory; there is no folder {}/no"),
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
        (
            ("aggregate", "{}/reports.csv", "-p", "{}/plan.json", "-o", "x.txt"),
            "written to a .agg file",
        ),
        (
            ("aggregate", "{}/values.csv", "-p", "{}/plan.json", "-o", "x.agg"),
            "reports, which `localdp privatize` makes",
        ),
        (("aggregate", "{}/reports.csv", "-p", "{}/plan.json", "-o", "nowhere/x.agg"), "no folder"),
        (("estimate", "{}/values.csv"), "not a saved aggregate"),
        (("estimate", "{}/counts.agg", "--prior", "powerlaw"), "powerlaw"),
        (("estimate", "{}/counts.agg", "--plot", "x.jpeg"), "a picture is written to a .png, .svg or .pdf file"),
        (("hitters", "{}/counts.agg", "-t", "many"), "'many'"),
        (("hitters", "{}/counts.agg", "--rule", "mean", "--fdr", "0.1"), "fdr is the level"),
        (("hitters", "{}/counts.agg", "--top", "0"), "--top is a whole number of at least 1, not '0'"),
        (("hitters", "{}/counts.agg", "--top", "x"), "--top is a whole number, not 'x'"),
        (("hitters", "{}/counts.agg", "-t", "0.5"), "write '50%' (1 user in 2) or '0.5%' (1 user in 200)"),
        (("hitters", "{}/counts.agg", "-t", "-5"), "a threshold is a number of users, at least 1, not -5"),
        (("hitters", "{}/counts.agg", "-t", "-5%"), "a share of them such as '0.5%' (above 0% and up to 100%)"),
        (("hitters", "{}/counts.agg", "--rule", "best"), "--rule is mean, f1 or fdr, not 'best'"),
        (("hitters", "{}/counts.agg", "--fdr", "few"), "--fdr is a share such as 0.1 or 10%, not 'few'"),
        (("estimate", "{}/counts.agg", "--prior", "fixed"), "--prior is auto, smooth, "),
        (("estimate", "{}/counts.agg", "--method", "best"), "--method is mean-variance or mle, not 'best'"),
        (("estimate", "{}/counts.agg", "--top", "-3"), "--top is a whole number of at least 1, not '-3'"),
        (
            ("plan", "{}/items.csv", "-e", "abc"),
            "--epsilon is a number above 0 and at most 16, such as 1, not 'abc'; `localdp advise` helps",
        ),
        (("plan", "{}/items.csv", "-m", "best"), "there is no mechanism 'best'; there are"),
        (("estimate", "{}/counts.agg", "--level", "95"), "(--level) is a probability between 0 and 1, not 95"),
        (
            ("estimate", "{}/counts.agg", "--level", "x"),
            "--level is a probability between 0 and 1, such as 0.95, not 'x'",
        ),
        (("plan", "--size", "5", "--set-size", "6"), "nobody holds more than the 5 items there are"),
        (("plan", "--size", "many"), "--size is a whole number, not 'many'"),
        (("plan", "--size", "2.5"), "--size is a whole number of at least 0, not '2.5'"),
        (("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "r.csv", "--unknown", "x"), "is fail or drop, not"),
        (("privatize", "{}/items.csv", "-p", "{}/plan.json", "-o", "r.csv", "--no-header"), "row 1 of"),
        (("privatize", "{}/reports.arrow", "-p", "{}/plan.json", "-o", "r.csv", "--header"), "only CSV files may lack"),
        (("aggregate", "-", "-", "-p", "{}/plan.json", "-o", "x.agg"), "standard input (-) can be read only once"),
        (("aggregate", "-", "-p", "{}/plan.json", "-o", "x.agg"), "standard input is empty"),
        (("advise",), "say how many items there are with --items, or name a file"),
        (("estimate", "{}/plan.json"), "not a saved aggregate; `localdp aggregate` makes one"),
        (("advise", "--items", "ten"), "--items is a whole number, not 'ten'"),
        (("advise", "--items", "10", "--users", "0.5"), "--users is a whole number of at least 0, not '0.5'"),
        (("advise", "--items", "10", "--once", "1"), "with once, give the users and the epsilon of all reports"),
        (("advise", "--items", "10", "-c", "name"), "name the file, too"),
        (("advise", "{}/values.csv"), "has 2 columns"),
        (("advise", "{}/values.csv", "-c", "day"), "fewer than two different values"),
        (("advise", "--items", "10", "--users", "100", "--smallest-share", "0.01%"), "At epsilon 4 this would do: "),
        (("reproduce", "--trials", "few"), "--trials is a whole number, not 'few'"),
        (("hitters", "{}/counts.agg", "--top", "5", "-t", "10"), "takes no threshold"),
        (("hitters", "{}/counts.agg", "--rule", "f1", "--fdr", "0.1"), "fdr is the level"),
        (("hitters", "{}/counts.agg", "-t", "0,5"), "'0,5'"),
        (("estimate", "{}/counts.agg", "-o", "ok.csv", "--plot", "nowhere/x.png"), "no folder"),
        (("estimate", "{}/counts.agg", "-o", ".json"), "neither"),
        (
            ("aggregate", "{}/reports.csv", "{}/../collected0/reports.csv", "-p", "{}/plan.json", "-o", "x.agg"),
            "the same people would be counted twice",
        ),
        (
            ("privatize", "{}/values.csv", "-p", "{}/plan.json", "-o", "{}/values.csv", "-c", "name", "--force"),
            "cannot replace the file with the values",
        ),
        (("estimate", "{}/counts.agg", "-o", "x.txt"), ".arrow nor .json file"),
        (("plan",), "needs a file with the items, --size or --scale"),
        (("plan", "{}/none.parquet"), "none.parquet: No such"),
        (("plan", "{}/counts.agg"), ".arrow nor .txt file"),
        (("plan", "--size", "9", "-c", "name"), "there is none here: leave them out"),
        (("plan", "{}/items.csv", "-e", "17"), "epsilon"),
        (("plan", "{}/items.csv", "-m", "rappor"), "RAPPOR"),
        (("plan", "{}/values.csv", "-c", "day"), "rows 1 and 2 below the header of"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_leaves_nothing(collected, tmp_path, arguments, sentence):
    done = localdp(*(part.format(collected) for part in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence.replace("{}", str(collected)) in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_reports_that_were_cut_short_are_one_line_and_leave_nothing(collected, tmp_path, kind):
    whole = (collected / f"reports.{kind}").read_bytes()
    (tmp_path / f"cut.{kind}").write_bytes(whole[: len(whole) // 2])
    done = localdp("aggregate", f"cut.{kind}", "-p", collected / "plan.json", "-o", "x.agg", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "file that can be read" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"cut.{kind}"]


@pytest.mark.slow
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
        assert "the file exists already (--force replaces it, or choose another name with -o)" in refused.stderr
        assert (tmp_path / name).read_text() == "mine"
        assert localdp(*command, "-o", name, "--force", cwd=tmp_path).returncode == 0
        assert (tmp_path / name).read_bytes() != b"mine"


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
