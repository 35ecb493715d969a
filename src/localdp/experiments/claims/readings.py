"""What we had to infer about the paper's evaluation, because the paper does not say it, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from localdp.datasets import Dataset
from localdp.experiments.claims.errors import published, relative_gain
from localdp.experiments.results import Results
from localdp.experiments.tasks import FITS

_IMPROVEMENT = (
    "Inferred, what a relative improvement is relative to: (Zero - Calibrate)/Calibrate, where both are estimation "
    "errors. The paper gives no formula. Relative to Zero's error, which is larger, an improvement of 97% would leave "
    "almost no error."
)
_SUPPORT = (
    "Inferred, the support of the power law: the frequencies 1, 2, .. n. The paper writes only that p_f(k) is "
    "proportional to k^-alpha. Frequency 0 is impossible under this formula, and no item has more than n users."
)
_DEVIATION = (
    "Inferred, the number 5434: the paper calls it the variance of the noise on Kosarak, but it is the standard "
    "deviation at epsilon 1, the square root of 8,019,015 · 4e/(e-1)². The paper does not name the epsilon of that "
    "figure. As a standard deviation only epsilon 1 gives this number; as a variance epsilon 8.68 would, which is "
    "beyond the range of the paper's other figures."
)
_TRIALS = "Inferred, the number of trials: the paper says dozens."
_MEAN = (
    "Changed, the mean frequency: the paper's mean-variance method estimates it by the mean of the estimates. We take "
    "n/d, which is known exactly when every user holds one item; `PowerLaw(mean='estimates')` does as the paper does."
)


def readings(results: Results, datasets: list[Dataset]) -> Iterator[str]:
    """Every reading, the first of them with the figures that it rests on."""
    yield (
        "Inferred, which fit the paper's figures use: it describes two, mean-variance and maximum likelihood (mle), "
        "and does not say which one it ran. Every claim about Calibrate is therefore judged with both. "
        f"{_evidence(results, datasets)}"
    ).rstrip()
    yield from (_IMPROVEMENT, _SUPPORT, _DEVIATION, _TRIALS, _MEAN)


def _evidence(results: Results, datasets: list[Dataset]) -> str:
    """The paper's gains beside ours with each fit, where the paper gives one."""
    sentences = []
    for data in datasets:
        for epsilon, theirs in published(data).gains.items():
            if not results.has(data.label, epsilon, FITS["mle"], "error"):
                continue
            ours = [relative_gain(results, data, epsilon, method) for method in FITS.values()]
            nearest = min(zip(FITS, ours, strict=True), key=lambda pair: abs(pair[1].value - theirs))[0]
            measured = " and ".join(f"{gain.value:.1%} with {fit}" for fit, gain in zip(FITS, ours, strict=True))
            sentences.append(
                f"On {data.label} at epsilon {epsilon:g}, the paper's gain is {100 * theirs:g}%; ours is {measured} "
                f"(nearer: {nearest})."
            )
    return " ".join(sentences)
