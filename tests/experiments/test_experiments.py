"""The paper's evaluation on a small data set: everything that is written, and what is refused."""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import localdp as ldp
from localdp import plots
from localdp.datasets import Dataset
from localdp.errors import InvalidInputError
from localdp.experiments import output, reproduce, runs
from localdp.experiments.claims import claims
from localdp.experiments.claims.verdicts import ON_SURROGATE, VERDICTS
from localdp.experiments.measures import goodness
from localdp.experiments.measures.trials import run
from localdp.experiments.output import is_ours, rewrite, write
from localdp.experiments.reproduce import TRIALS, _pool
from localdp.experiments.results import Results
from localdp.experiments.sections import SECTIONS
from localdp.experiments.tasks import AUTO, LIKELIHOOD, MOMENTS, ORACLE, RAW, ZERO, Task

EVALUATION = sys.modules[reproduce.__module__]
SMALL = Dataset("small", (30_000 / np.arange(1, 201) ** 1.3).astype(np.int64) + 1, "Falls as rank^-1.3.", True)


@contextmanager
def _no_pool():
    """Runs trials here, where other processes would have to import everything first."""
    yield SimpleNamespace(map=map)


@pytest.fixture(scope="module", autouse=True)
def _cheap_trials():
    """Few simulated surveys in each test of a family, and no pool: the test of the command has all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(goodness, "REPLICATES", 4)
        patch.setattr(EVALUATION, "_pool", _no_pool)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "small"
    steps = []
    results = reproduce([SMALL], folder, trials=2, quick=True, progress=lambda done, of: steps.append((done, of)))
    return folder, results, steps


def test_a_trial_measures_the_same_in_a_process_of_its_own():
    task = Task(SMALL, "oue", 4.0, experiment="optimality")
    with _pool() as pool:
        assert list(pool.map(runs.run, [task])) == [runs.run(task)]


def test_a_trial_measures_what_it_says():
    measured = run(Task(SMALL, "oue", 4.0, (1.0,), seed=3))
    estimate = ldp.Plan(200, "oue", 4.0).simulate(SMALL.frequencies, seed=3).estimate()
    assert measured[None, RAW, "error"] == ldp.metrics.estimation_error(estimate.frequencies, SMALL.frequencies)
    assert measured[None, AUTO, "error"] == pytest.approx(
        ldp.metrics.estimation_error(estimate.calibrate().frequencies, SMALL.frequencies)
    )
    truth = ldp.metrics.true_hitters(SMALL.frequencies, estimate.significance_threshold())
    scores = ldp.metrics.heavy_hitter_scores(estimate.zeroed().heavy_hitters(), truth)
    assert measured[1.0, ZERO, "recall"] == scores.recall
    assert measured == run(Task(SMALL, "oue", 4.0, (1.0,), seed=3))


def test_the_papers_rule_names_what_heavy_hitters_names():
    measured = run(Task(SMALL, "oue", 4.0, (0.25,), seed=3))
    estimate = ldp.Plan(200, "oue", 4.0).simulate(SMALL.frequencies, seed=3).estimate()
    threshold = estimate.significance_threshold() / 4
    assert measured[0.25, RAW, "threshold in users"] == threshold
    truth = ldp.metrics.true_hitters(SMALL.frequencies, threshold)
    assert measured[0.25, RAW, "true hitters"] == truth.size
    for method, fit in ((MOMENTS, "mean-variance"), (LIKELIHOOD, "mle")):
        named = estimate.calibrate("power-law", fit).heavy_hitters(threshold).indices
        assert measured[0.25, method, "F-score"] == ldp.metrics.heavy_hitter_scores(named, truth).f_score


def test_dozens_of_trials_are_two():
    assert TRIALS >= 24


@pytest.mark.slow
def test_means_and_errors_are_those_of_the_trials(written):
    _, results, _ = written
    trials = [run(Task(SMALL, "oue", 2.0, (1.0,), seed=seed))[None, ORACLE, "error"] for seed in range(2)]
    row = results.find("small (surrogate)", 2.0, ORACLE)
    assert row.values == pytest.approx(trials)
    assert row.mean == pytest.approx(np.mean(trials))
    assert row.std_error == pytest.approx(np.std(trials, ddof=1) / np.sqrt(2), rel=0.01)  # values keep seven digits


@pytest.mark.slow
def test_everything_is_written(written):
    folder, results, steps = written
    for section in SECTIONS:
        for kind in ("png", "svg"):
            assert (folder / f"{section.figure}-small--surrogate.{kind}").stat().st_size > 5_000
    with (folder / "errors.csv").open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    assert {row["data"] for row in rows} == {"small (surrogate)"}
    assert {row["method"] for row in rows} >= {RAW, ZERO, LIKELIHOOD, AUTO, ORACLE}
    document = json.loads((folder / "results.json").read_text("utf-8"))
    assert len(document["means"]) == len(results.means)
    assert steps[-1] == (len(steps), len(steps))


@pytest.mark.slow
def test_the_page_needs_nothing_from_outside(written):
    page = (written[0] / "index.html").read_text("utf-8")
    assert not re.search(r"""(src|href|action)=["']?(?!["']?data:image/png)""", page)
    assert not re.search("<script|<link|<iframe|@import|url\\(", page)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    assert page.count("data:image/png;base64,") == len(SECTIONS)
    for picture in written[0].glob("*.png"):
        assert base64.b64encode(picture.read_bytes()).decode() in page


@pytest.mark.slow
def test_a_surrogate_is_called_one_wherever_it_is_shown(written):
    page = (written[0] / "index.html").read_text("utf-8")
    assert page.count("small (surrogate)") > len(SECTIONS)
    for picture in written[0].glob("*.svg"):
        assert "surrogate" in picture.name
    assert "small (surrogate)" in (written[0] / "report.md").read_text("utf-8")


@pytest.mark.slow
def test_means_survive_json(written):
    document = json.loads((written[0] / "results.json").read_text("utf-8"))
    again = Results.from_json(document["means"])
    assert again.to_json() == written[1].to_json()
    assert [mean for mean in again.means if mean.mean == mean.mean] == [
        mean for mean in written[1].means if mean.mean == mean.mean
    ]


@pytest.mark.slow
def test_a_folder_is_written_again_from_its_results(written, tmp_path):
    folder = shutil.copytree(written[0], tmp_path / "run")
    for path in folder.iterdir():
        if path.name != "results.json":
            path.unlink()
    rewrite(folder, [SMALL])
    assert {path.name for path in folder.iterdir()} == {path.name for path in written[0].iterdir()}
    for name in ("index.html", "report.md", "results.json", "errors.csv"):
        assert (folder / name).read_text("utf-8") == (written[0] / name).read_text("utf-8")


@pytest.mark.parametrize("content", ["mine", "{}", '{"format": "localdp-reproduction/2", "data": []}'])
def test_a_folder_that_holds_anything_else_is_kept(tmp_path, content):
    (tmp_path / "results.json").write_text(content)
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="did not write"):
        reproduce([SMALL], tmp_path, trials=1)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_run_is_replaced(written, tmp_path, monkeypatch):
    monkeypatch.setattr(EVALUATION, "gather", lambda _tasks, _found: written[1])
    empty = dict.fromkeys(output.FIGURES, lambda _results, _data: plots.figure())
    monkeypatch.setattr(output, "FIGURES", empty)  # drawing takes longer than everything else
    folder = shutil.copytree(written[0], tmp_path / "run")
    assert is_ours(folder)
    (folder / "report.md").write_text("old")
    reproduce([SMALL], folder, trials=1, quick=True)
    assert "one seeded trial;" in (folder / "report.md").read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_names_are_never_markup(written, tmp_path):
    name = '<img src=x onerror="alert(1)">|`$x_{$'
    means = [replace(mean, data=mean.data.replace(SMALL.label, name)) for mean in written[1].means]
    write(Results(means), [Dataset(name, SMALL.frequencies, f"from {name}")], 2, f"localdp {name}", tmp_path)
    for page in ("index.html", "report.md"):
        assert "<img src=x" not in (tmp_path / page).read_text("utf-8")
    assert "&#124;" in (tmp_path / "report.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("frequencies", [[5] * 40, [1, 1], [9, 0, 0, 0]])
def test_data_without_any_shape_are_reported_too(tmp_path, frequencies):
    data = Dataset("flat", np.array(frequencies), "")
    results = reproduce([data], tmp_path / "run", trials=1, quick=True)
    assert {claim.topic for claim in claims(results, data)} >= {"Error", "Noise"}


@pytest.mark.parametrize("trials", [0, -1, 1.5, True])
def test_an_impossible_number_of_trials_is_refused(tmp_path, trials):
    with pytest.raises(InvalidInputError, match="trials must be a whole number of at least 1, not "):
        reproduce([SMALL], tmp_path / "new", trials=trials)


@pytest.mark.slow
def test_claims_say_what_was_found(written):
    found = {claim.topic: claim for claim in claims(written[1], SMALL)}
    assert found["Noise"].findings[0].verdict == "holds, on a surrogate"
    assert "combined p-value" in found["Noise"].findings[0].here
    assert "16%" not in found["Gain at epsilon 1"].paper
    verdicts = {finding.verdict for claim in found.values() for finding in claim.findings}
    assert {verdict.removesuffix(ON_SURROGATE) for verdict in verdicts} <= {*VERDICTS, ""}
    for topic in ("Noise if not pure", "Optimality, epsilon 4", "Time of the fits", "Opt-in and the family"):
        assert found[topic].findings[0].verdict, topic
    assert {"What opt-in users add", "Intervals", "Few items: 200 with `ss`, all items"} <= set(found)


@pytest.mark.slow
def test_both_fits_stand_side_by_side_on_the_pages(written):
    for page in ("index.html", "report.md"):
        text = (written[0] / page).read_text("utf-8")
        assert "with mean-variance" in text
        assert "with mle" in text
        assert text.count("Inferred, ") == 5
    lines = (written[0] / "report.md").read_text("utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| Gain at epsilon 5 ")]
    assert row.count("(Zero - Calibrate)/Calibrate = ") == 2


@pytest.mark.slow
def test_thresholds_are_shown_in_users(written):
    lines = (written[0] / "report.md").read_text("utf-8").splitlines()
    users = written[1].find(SMALL.label, 4.0, RAW, "threshold in users", 0.125).mean
    (row,) = [line for line in lines if line.startswith("| 0.125 | ")]
    assert row.startswith(f"| 0.125 | {users:,.0f} | {users / SMALL.n:.3%} | ")


@pytest.mark.slow
def test_the_papers_numbers_are_found_by_the_size_of_the_data(written):
    retail = ldp.datasets.load("retail")
    means = [
        replace(mean, data=mean.data.replace(SMALL.label, retail.label).replace("all items", "512 items"))
        for mean in written[1].means
    ]
    found = {claim.topic: claim.paper for claim in claims(Results(means), retail)}
    assert "2.4%" in found["Gain at epsilon 1"]
    assert "65%" in found["Gain at epsilon 5"]
