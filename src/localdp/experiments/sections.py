"""The sections of the report: one for each figure, with what the paper says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localdp.experiments.measures.bloom import BITS, COHORTS, HASHES
from localdp.experiments.measures.few_items import SUBSET_ITEMS
from localdp.experiments.results import Mean
from localdp.experiments.tasks import THRESHOLD_EPSILON


@dataclass(frozen=True)
class Section:
    """A figure, what the paper says about it, and a filter for the means it shows (None if it shows no means)."""

    figure: str
    title: str
    paper: str
    wanted: Callable[[Mean], bool] | None


SECTIONS = (
    Section(
        "frequencies",
        "The frequencies",
        "The paper shows that many items are rare and few are frequent: nearly a line on logarithmic axes.",
        None,
    ),
    Section(
        "noise",
        "The noise",
        "The paper fits a Gaussian to the noise of OUE on Kosarak, and it agrees with the Gaussian of the theory. We "
        "also test it (Kolmogorov-Smirnov): the p-value is the probability of a difference this large if the noise "
        "is Gaussian.",
        lambda mean: mean.metric.startswith("noise") and mean.mechanism != "bloom",
    ),
    Section(
        "bloom",
        "Noise that is not Gaussian",
        "The paper says that Calibrate does not apply to RAPPOR with Bloom filters, because its noise is not "
        f"Gaussian. Simulated here with {BITS} bits, {HASHES} hash functions and {COHORTS} cohorts, at epsilon "
        f"{THRESHOLD_EPSILON:g}, beside basic RAPPOR, which has a bit for each item and is pure. On the left, the "
        "noise of all items and the Gaussian that a collector would expect. On the right, the noise of every item in "
        "two collections from the same users. With basic RAPPOR the two have nothing in common. With Bloom filters "
        "an item keeps its noise, because it shares bits with the same items every time: this noise is a bias that "
        "depends on how frequent those items are, and no average over collections removes it.",
        lambda mean: mean.mechanism == "bloom",
    ),
    Section(
        "errors",
        "Estimation error and epsilon",
        "The paper: Zero and Calibrate beat OUE by orders of magnitude, and Calibrate's lead over Zero grows with "
        "epsilon. Added here: the second way to fit the power law, Norm-Sub, `auto`, and the oracle, which knows the "
        "true distribution of the frequencies.",
        lambda mean: mean.metric == "error" and mean.mechanism == "oue",
    ),
    Section(
        "gains",
        "The gain over Zero, with both fits",
        "(Zero - Calibrate)/Calibrate on the same trials, with 99% intervals, beside the numbers that the paper "
        "gives. A line that touches 0 is a tie.",
        None,
    ),
    Section(
        "hitters-by-threshold",
        "Heavy hitters and the threshold",
        "The paper, at epsilon 4: Calibrate has higher precision, lower recall and the best F-score, most clearly "
        "below the significance threshold (the vertical line). The upper axis gives the threshold in users.",
        lambda mean: mean.threshold is not None and mean.epsilon == THRESHOLD_EPSILON,
    ),
    Section(
        "hitters-by-epsilon",
        "Heavy hitters and epsilon",
        "The paper, at the significance threshold of each epsilon: Calibrate has the better F-score.",
        lambda mean: mean.threshold == 1.0,
    ),
    Section(
        "mechanisms",
        "Other mechanisms",
        "Not in the paper, which says that Calibrate can be appended to any pure mechanism. `ss` runs only on the "
        f"{SUBSET_ITEMS} most frequent items, because simulating it on large domains is slow. There the rare items are "
        "missing that a power law expects; the rows on few items, above, say what that does to Calibrate.",
        lambda mean: mean.metric == "error" and mean.mechanism != "oue",
    ),
    Section(
        "coverage",
        "Intervals",
        "Not in the paper: how often the 90% intervals of `auto` contain the true frequency.",
        lambda mean: mean.metric in ("covered", "heavy covered"),
    ),
)
