"""Commands on a bare installation: CSV and tables work, and what is missing is said before any work."""

from __future__ import annotations

import os

import pytest
from command import localdp

BLOCK = """
import sys
for name in ("pyarrow", "matplotlib", "jinja2", "numba", "pandas", "polars"):
    sys.modules[name] = None
"""


@pytest.fixture
def bare(tmp_path_factory):
    """The command, with the packages of the extras hidden from it."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return lambda *arguments, cwd: localdp(*arguments, cwd=cwd, environment={"PYTHONPATH": path})


def test_the_pipeline_works_on_csv(bare, collected, tmp_path):
    plan = collected / "plan.json"
    for step in (
        ("plan", collected / "items.csv", "-e", "4"),
        ("privatize", collected / "values.csv", "-c", "name", "-p", plan, "-o", "r.csv.gz"),
        ("aggregate", "r.csv.gz", "-p", plan, "-o", "c.agg"),
        ("estimate", "c.agg", "-o", "e.csv"),
        ("hitters", "c.agg", "-t", "1%", "-o", "h.tsv"),
    ):
        done = bare(*step, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan.json").read_bytes() == plan.read_bytes()
    assert len((tmp_path / "e.csv").read_text().splitlines()) == 201
    assert (tmp_path / "h.tsv").read_text().startswith('"item"\t"frequency"\t"share"')


@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (("plan", "{}/items.parquet"), "pyarrow"),
        (("privatize", "{}/values.csv", "-c", "name", "-p", "{}/plan.json", "-o", "r.parquet"), "pyarrow"),
        (("aggregate", "{}/reports.csv", "{}/reports.arrow", "-p", "{}/plan.json", "-o", "x.agg"), "pyarrow"),
        (("estimate", "{}/counts.agg", "-o", "x.arrow"), "pyarrow"),
        (("estimate", "{}/counts.agg", "--plot", "x.png"), "matplotlib"),
        (("hitters", "{}/counts.agg", "--plot", "x.png"), "matplotlib"),
        (("advise", "--items", "9", "--users", "999", "--plot", "x.png"), "matplotlib"),
        (("reproduce", "--quick"), "matplotlib"),
    ],
)
def test_a_missing_package_is_named_before_any_work(bare, collected, tmp_path, arguments, package):
    (collected / "items.parquet").touch()
    done = bare(*(part.format(collected) for part in arguments), cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"the package {package}: pip install" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_demo_leaves_out_what_is_not_installed(bare, tmp_path):
    shown = bare("demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "Heavy hitters" in shown.stdout
    said = " ".join(shown.stdout.split())
    assert "No picture and no web page were written, because matplotlib and jinja2 are not installed." in said
    assert "Try next" in said
    assert list(tmp_path.iterdir()) == []
