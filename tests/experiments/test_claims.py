"""Verdicts follow the measurements: both fits, ties, the paper's numbers, and what is called inferred."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from paths import DOCS

import localdp as ldp
from localdp.datasets import Dataset
from localdp.experiments.claims import claims
from localdp.experiments.claims.errors import relative_gain
from localdp.experiments.claims.readings import readings
from localdp.experiments.claims.verdicts import ON_SURROGATE, UNDECIDED, verdict_of_comparisons
from localdp.experiments.reproduce import QUICK_EPSILONS, QUICK_TRIALS, TRIALS
from localdp.experiments.results import Mean, Results
from localdp.experiments.tasks import AUTO, CUTS, FITS, LIKELIHOOD, MOMENTS, ORACLE, RAW, ZERO

DATA = Dataset("small", (30_000 / np.arange(1, 201) ** 1.3).astype(np.int64) + 1, "Falls as rank^-1.3.")
REPEATED = 5  # the five noises, so often: 25 trials are enough for verdicts
NOISE = (-1.0, 0.5, 0.5, -0.5, 0.5) * REPEATED  # the same in every method of a trial


def _mean(epsilon, method, value, metric="error", threshold=None, label=DATA.label, spread=NOISE):
    return Mean(label, "oue", epsilon, threshold, method, metric, tuple(value + noise for noise in spread))


def _means(gains, label=DATA.label, f_scores=(0.5, 0.5), own=(0.0,) * 25):
    """Errors of 100 for Calibrate, and Zero's larger by these gains: {epsilon: (mean-variance, mle)}.

    `own` is noise that Zero alone has, on top of the noise that all methods share.
    """
    zero_noise = tuple(a + b for a, b in zip(NOISE, own, strict=True))
    for epsilon, (moments, likelihood) in gains.items():
        yield _mean(epsilon, ZERO, 200.0, label=label, spread=zero_noise)
        for method, gain in ((MOMENTS, moments), (LIKELIHOOD, likelihood)):
            yield _mean(epsilon, method, 200.0 / (1 + gain), label=label)
        for fit, method in CUTS.items():
            yield _mean(epsilon, method, 200.0 / (1 + dict(zip(FITS, gains[epsilon], strict=True))[fit]), label=label)
        yield _mean(epsilon, RAW, 5_000.0, label=label)
        yield from (_mean(epsilon, method, 90.0, label=label) for method in (AUTO, ORACLE))
        for method, score in ((MOMENTS, f_scores[1]), (LIKELIHOOD, f_scores[1]), (ZERO, f_scores[0])):
            yield _mean(epsilon, method, score, "F-score", 1.0, label, spread=(0.0, 0.1, 0.0, 0.1, 0.0) * REPEATED)
        yield _mean(epsilon, RAW, 300.0, "threshold in users", 1.0, label, spread=(0.0,) * 25)
        yield from (_mean(epsilon, AUTO, 0.9, each, label=label) for each in ("covered", "heavy covered"))


def _verdicts(means, data=DATA):
    """The verdicts on each topic: one, or one for each fit."""
    found = claims(Results(list(means)), data)
    return {claim.topic: tuple(finding.verdict for finding in claim.findings) for claim in found}


def test_the_gain_is_relative_to_the_smaller_error():
    means = [_mean(1.0, method, value) for method, value in ((ZERO, 150.0), (LIKELIHOOD, 100.0))]
    assert relative_gain(Results(means), DATA, 1.0).value == pytest.approx(0.5)


def test_each_fit_gets_its_own_verdict():
    found = _verdicts(_means({2.0: (0.1, -0.2), 5.0: (0.2, -0.3)}))
    assert found["Gain at epsilon 5"] == ("holds", "does not hold")
    assert found["Gain and epsilon"] == ("holds", "does not hold")


def test_a_gain_grows_holds_in_part_or_falls():
    growing = _verdicts(_means({2.0: (0.1, 0.1), 3.0: (0.2, 0.2)}))
    assert growing["Gain and epsilon"] == ("holds", "holds")
    assert growing["Error"] == growing["Zero after Calibrate"] == ("holds", "holds")
    mixed = _verdicts(_means({0.5: (0.2, 0.2), 2.0: (0.1, 0.3), 3.0: (0.3, 0.1)}))
    assert mixed["Gain and epsilon"] == ("holds in part", "holds in part")


def test_a_difference_within_noise_is_a_tie():
    clear, unclear = (0.0,) * 25, (-40.0, 40.0, -30.0, 30.0, 0.0) * REPEATED
    assert _verdicts(_means({5.0: (0.02, 0.02)}, own=clear))["Gain at epsilon 5"] == ("holds", "holds")
    assert _verdicts(_means({5.0: (0.02, 0.02)}, own=unclear))["Gain at epsilon 5"] == ("tie", "tie")
    found = _verdicts(_means({5.0: (0.0, 0.0)}))
    assert found["Gain at epsilon 5"] == found["Heavy hitters and epsilon"] == ("tie", "tie")


def _first(means, trials):
    return [replace(mean, values=mean.values[:trials]) for mean in means]


@pytest.mark.parametrize("trials", [1, 3])
def test_few_trials_decide_nothing_that_more_could_change(trials):
    close = _verdicts(_first(_means({5.0: (0.02, 0.02)}, own=(-40.0, 40.0, -30.0, 30.0, 0.0) * REPEATED), trials))
    assert close["Gain at epsilon 5"] == close["Heavy hitters and epsilon"] == ("too few trials",) * 2
    retail = ldp.datasets.load("retail")
    near_the_edge = _means({5.0: (0.58, 0.58)}, retail.label, own=(-4.0, 4.0, -3.0, 3.0, 0.0) * REPEATED)
    assert _verdicts(_first(near_the_edge, trials), retail)["Gain at epsilon 5"] == ("too few trials",) * 2


def test_a_quick_run_contradicts_no_verdict_of_the_full_one():
    """The quick run has the first seeds of the full one, so its verdicts follow from the committed results."""
    document = json.loads((DOCS / "reproduction" / "results.json").read_text("utf-8"))
    full = Results.from_json(document["means"])
    quick = [
        replace(mean, values=mean.values[: max(1, mean.trials * QUICK_TRIALS // TRIALS)])
        for mean in full.means
        if mean.epsilon in QUICK_EPSILONS
    ]
    settled = 0
    for name in ("retail", "kosarak"):
        data = ldp.datasets.load(name)
        judged = {claim.topic: claim for claim in claims(full, data)}
        for claim in claims(Results(quick), data):
            for finding, sure in zip(claim.findings, judged[claim.topic].findings, strict=True):
                word = finding.verdict.removesuffix(ON_SURROGATE)
                assert word in (UNDECIDED, sure.verdict.removesuffix(ON_SURROGATE)), (name, claim.topic, finding.here)
                settled += word not in (UNDECIDED, "")
    assert settled > 10


def test_every_verdict_on_a_surrogate_says_so():
    stand_in = replace(DATA, is_surrogate=True)
    found = _verdicts(_means({5.0: (0.1, 0.1)}, stand_in.label), stand_in)
    verdicts = [verdict for several in found.values() for verdict in several if verdict]
    assert len(verdicts) > 5
    assert all(verdict.endswith(", on a surrogate") for verdict in verdicts)


def test_a_line_on_logarithmic_axes_is_not_yet_a_power_law():
    exact = np.floor(np.random.default_rng(3).uniform(size=4_000) ** -1.0).astype(np.int64)
    bent = np.concatenate([exact[exact > 2], [1, 2] * 300])  # half of the rarest items are missing
    for frequencies, verdict in ((exact, "holds"), (bent, "holds in part")):
        data = Dataset("drawn", np.sort(frequencies)[::-1], "Drawn.")
        found = _verdicts(_means({5.0: (0.1, 0.1)}, "drawn"), data)
        assert found["Frequencies"] == (verdict,)


def test_f_scores_are_compared_on_the_same_trials():
    # The scores vary by 0.05 between trials, and the lead of 0.001 is the same in every one of them.
    assert _verdicts(_means({5.0: (0.1, 0.1)}, f_scores=(0.5, 0.501)))["Heavy hitters and epsilon"] == (
        "holds",
        "holds",
    )
    worse = _verdicts(_means({5.0: (0.1, 0.1)}, f_scores=(0.501, 0.5)))
    assert worse["Heavy hitters and epsilon"] == ("does not hold", "does not hold")


def test_a_gain_far_from_the_papers_holds_in_part():
    retail = ldp.datasets.load("retail")
    found = _verdicts(_means({5.0: (0.503, 0.656)}, retail.label), retail)
    assert found["Gain at epsilon 5"] == ("holds in part", "holds")


def test_readings_are_called_inferred_and_show_both_fits():
    retail = ldp.datasets.load("retail")
    several = list(readings(Results(list(_means({5.0: (0.503, 0.656)}, retail.label))), [retail]))
    assert [text.partition(",")[0] for text in several] == ["Inferred"] * 5 + ["Changed"]
    assert "the paper's gain is 65%; ours is 50.3% with mean-variance and 65.6% with mle (nearer: mle)" in several[0]
    assert "(Zero - Calibrate)/Calibrate" in several[1]
    assert "1, 2, .. n" in several[2]


@pytest.mark.parametrize(
    ("signs", "word"),
    [
        ([1, 1], "holds"),
        ([1, 0], "holds in part"),
        ([0, 0], "tie"),
        ([1, -1], "holds in part"),
        ([-1, 0], "does not hold"),
        ([], "not tried"),
    ],
)
def test_a_claim_about_many_comparisons(signs, word):
    assert verdict_of_comparisons(signs) == word
