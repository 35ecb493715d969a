"""What the paper derives or says in passing, measured: noise of other mechanisms, optimality, the two fits, opt-in."""

from __future__ import annotations

from collections.abc import Iterator

from localdp.datasets import Dataset
from localdp.experiments.claims import pairs
from localdp.experiments.claims.errors import SMALLEST_P_VALUE
from localdp.experiments.claims.verdicts import TIE, UNDECIDED, Claim, Finding, verdict, verdict_of_comparisons
from localdp.experiments.measures import bloom, fits, goodness, opt_in, optimality
from localdp.experiments.measures.few_items import most_frequent
from localdp.experiments.measures.normality import combined_p_value
from localdp.experiments.measures.power_laws import power_law_test
from localdp.experiments.results import Results
from localdp.experiments.tasks import LIKELIHOOD, MOMENTS, RAW, THRESHOLD_EPSILON
from localdp.plan import Plan

_REPEATED = 0.05  # a correlation that many items cannot have by chance
_LEVEL_OF_ALL = 1 - 2 * 0.01 / len(optimality.NEIGHBOURS)
"""Of each estimator near the posterior mean: if the theorem holds, one of them is called better in 1% of the runs."""


def claims(results: Results, data: Dataset) -> Iterator[Claim]:
    """The claims for which there are measurements on this data set."""
    if any(mean.data == data.label and mean.mechanism == "sue" for mean in results.means):
        yield _other_mechanisms(results, data)
    if results.has(data.label, THRESHOLD_EPSILON, bloom.NAME, "noise p-value", "bloom"):
        yield _not_pure(results, data)
    for epsilon in (1.0, THRESHOLD_EPSILON):
        if results.has(data.label, epsilon, optimality.CORRECTED, optimality.METRIC):
            yield _optimality(results, data, epsilon)
    if results.has(data.label, 1.0, MOMENTS, fits.SECONDS):
        yield _seconds(results, data)
    for epsilon in (1.0, THRESHOLD_EPSILON):
        if results.has(data.label, epsilon, goodness.SMOOTH, goodness.SURVEYS):
            yield _goodness(results, data, epsilon)
    if results.has(data.label, 1.0, "power-law", opt_in.SCORE):
        yield _family(results, data)


def _other_mechanisms(results: Results, data: Dataset) -> Claim:
    labels = {data.label: data, most_frequent(data).label: most_frequent(data)}
    tested = results.select(
        lambda mean: (
            mean.data in labels
            and mean.mechanism not in ("oue", "bloom")
            and (mean.method, mean.metric) == (RAW, "noise p-value")
        )
    )
    shown, gaussian = [], []
    for mean in tested:
        p_value = combined_p_value(mean.values)
        gaussian.append(p_value >= SMALLEST_P_VALUE)
        source = labels[mean.data]
        votes = source.n * float(Plan(source.d, mean.mechanism, mean.epsilon).mechanism.q_star)
        shown.append(f"`{mean.mechanism}` {p_value:.2g} ({votes:,.0f})")
    found = (
        f"combined p-value of the Kolmogorov-Smirnov test at epsilon {THRESHOLD_EPSILON:g} and, in brackets, how many "
        f"reports support an item that nobody holds: {', '.join(shown)}. The Gaussian is a limit: with few supporting "
        "reports, counts are small whole numbers, and the test sees their steps and their skewness"
    )
    paper = "the noise of every pure mechanism is approximately Gaussian, because it is a sum over many users"
    return Claim("Noise of other mechanisms", paper, (Finding(found, verdict(all(gaussian), partly=any(gaussian))),))


def _not_pure(results: Results, data: Dataset) -> Claim:
    def measured(name: str, metric: str) -> float:
        return results.find(data.label, THRESHOLD_EPSILON, name, metric, mechanism="bloom").mean

    def p_value(name: str) -> float:
        found = results.find(data.label, THRESHOLD_EPSILON, name, "noise p-value", mechanism="bloom")
        return combined_p_value(found.values)

    ratio, repeated = "noise deviation / stated", "noise repeated"
    here = (
        f"at epsilon {THRESHOLD_EPSILON:g}, with Bloom filters: p-value {_small(p_value(bloom.NAME))}, skewness "
        f"{measured(bloom.NAME, 'noise skewness'):.2f}, and {measured(bloom.NAME, ratio):.1f} times the deviation "
        "that the flipped bits alone would give. An item keeps much of its noise when the data are collected again "
        f"(correlation {measured(bloom.NAME, repeated):.2f}): it comes from the items that share its bits. With the "
        f"same users spread equally over the items it is {measured(bloom.FLAT, ratio):.1f} times, so it depends on "
        f"the true frequencies. Basic RAPPOR, which is pure: p-value {p_value(bloom.PURE):.2g}, "
        f"{measured(bloom.PURE, ratio):.2f} times, correlation {round(measured(bloom.PURE, repeated), 2) + 0.0:.2f}"
    )
    strange = p_value(bloom.NAME) < SMALLEST_P_VALUE
    holds = strange and measured(bloom.NAME, repeated) > _REPEATED
    paper = (
        "with Bloom filters RAPPOR is not pure: its noise is not Gaussian and depends on the true frequencies, so "
        "Calibrate does not apply"
    )
    return Claim("Noise if not pure", paper, (Finding(here, verdict(holds, partly=strange)),))


def _small(p_value: float) -> str:
    return "below 1e-100" if p_value < 1e-100 else f"{p_value:.2g}"


def _optimality(results: Results, data: Dataset, epsilon: float) -> Claim:
    best = results.find(data.label, epsilon, optimality.MEAN, optimality.METRIC)
    shown: dict[str, str] = {}
    better, tied = [], False
    for rival in (*optimality.RIVALS, *optimality.NEIGHBOURS):
        error = results.find(data.label, epsilon, rival, optimality.METRIC)
        ahead, excess = pairs.difference(best, error), pairs.gain(error, best)
        if ahead.value > ahead.margin_at(_LEVEL_OF_ALL):
            better.append(rival)
        tied |= ahead.sign == 0
        tie = ", a tie" if ahead.sign == 0 else ""
        shown[rival] = f"{rival} {excess.value:+.2%} (± {excess.std_error:.2%}{tie})"
    found = (
        "the error of other estimators, relative to that of the posterior mean: "
        f"{', '.join(shown[rival] for rival in optimality.RIVALS)}. Where the theorem could fail, close to the "
        f"posterior mean: {', '.join(shown[rival] for rival in optimality.NEIGHBOURS)}. The last one learns from a "
        "second survey, with the truth at hand, how far the posterior mean is off for estimates of each size; the "
        f"theorem says that there is nothing to learn. Clearly better than the posterior "
        f"mean: {', '.join(better) or 'none'}"
    )
    paper = "given the true prior, no estimator has a smaller mean squared error than the posterior mean (Theorem 1)"
    judged = UNDECIDED if tied and not results.enough else verdict(not better)
    return Claim(f"Optimality, epsilon {epsilon:g}", paper, (Finding(found, judged),))


def _seconds(results: Results, data: Dataset) -> Claim:
    moments, likelihood = (results.find(data.label, 1.0, each, fits.SECONDS) for each in (MOMENTS, LIKELIHOOD))
    alphas = [results.find(data.label, 1.0, each, fits.ALPHA).mean for each in (MOMENTS, LIKELIHOOD)]
    ratio = pairs.gain(likelihood, moments)
    faster = pairs.difference(likelihood, moments).sign
    found = (
        f"at epsilon 1, mean-variance takes {1e3 * moments.mean:.1f} ms of processor time and mle "
        f"{1e3 * likelihood.mean:.1f} ms, {1 + ratio.value:.1f} times as long (± {ratio.std_error:.1f}); they find "
        f"alpha {alphas[0]:.2f} and {alphas[1]:.2f}. Both are quick here, because sums over "
        "frequencies use a quadrature"
    )
    paper = "fitting by mean-variance is much faster than by maximum likelihood"
    judged = verdict(1 + ratio.value >= 2, partly=faster > 0) if faster else TIE if results.enough else UNDECIDED
    return Claim("Time of the fits", paper, (Finding(found, judged),))


def _goodness(results: Results, data: Dataset, epsilon: float) -> Claim:
    names = (*goodness.POWER_LAWS, *goodness.OTHERS, goodness.SMOOTH)
    tests = {name: results.find(data.label, epsilon, name, goodness.P_VALUE) for name in names}
    p_values = {name: combined_p_value(test.values) for name, test in tests.items()}

    def rejected(name: str) -> bool:
        return p_values[name] <= goodness.REJECTED

    def shown(name: str) -> str:
        statistic = results.find(data.label, epsilon, name, goodness.STATISTIC).mean
        return f"{name} {p_values[name]:.2g}{' (rejected)' if rejected(name) else ''}, mean statistic {statistic:,.1f}"

    # Where much noise hides the departures, the true frequencies decide whether they follow a power law.
    follow = power_law_test(data.frequencies)[1] >= SMALLEST_P_VALUE
    trials = tests[goodness.SMOOTH].trials
    surveys = results.find(data.label, epsilon, goodness.SMOOTH, goodness.SURVEYS).mean
    found = (
        f"p-value of the goodness-of-fit test, combined over {'one trial' if trials == 1 else f'{trials} trials'} of "
        f"{surveys:.0f} simulated surveys each: {'; '.join(shown(name) for name in names)}. A family is "
        f"rejected at {goodness.REJECTED:g}. The less noise there is, the smaller the departures from a family that "
        f"the test sees{'' if follow else '. The true frequencies do not follow a power law (see Frequencies)'}"
    )
    tell_apart = all(rejected(name) for name in goodness.OTHERS)
    accepted = follow and not all(rejected(name) for name in goodness.POWER_LAWS)
    undecided = not results.enough and not all(rejected(name) for name in (*goodness.POWER_LAWS, *goodness.OTHERS))
    paper = "the frequencies follow a power law, and hypothesis tests on private data can help to find the family"
    judged = UNDECIDED if undecided else verdict(tell_apart and accepted, partly=tell_apart)
    return Claim(f"Tests of the family, epsilon {epsilon:g}", paper, (Finding(found, judged),))


def _family(results: Results, data: Dataset) -> Claim:
    def ranked(metric: str) -> list[str]:
        means = results.select(lambda mean: mean.data == data.label and mean.metric == metric)
        return [mean.method for mean in sorted(means, key=lambda mean: -mean.mean)]

    scores = {
        name: results.find(data.label, 1.0, name, opt_in.SCORE)
        for name in opt_in.PAPER_FAMILIES
        if results.has(data.label, 1.0, name, opt_in.SCORE)
    }
    first = scores["power-law"]
    signs = [pairs.difference(first, score).sign for name, score in scores.items() if name != "power-law"]
    shown = ", ".join(
        f"{name} {results.find(data.label, 1.0, name, opt_in.SCORE).mean:.2f}" for name in ranked(opt_in.SCORE)
    )
    found = (
        f"{opt_in.SHARE:.0%} of the users opt in, and every family is fitted to their counts. Log-likelihood less a "
        f"penalty for parameters, for each item: {shown}. The private answers of the others, at epsilon 1, rank the "
        f"families: {', '.join(ranked(opt_in.PRIVATE_SCORE))}. The verdict is about the paper's four families, of "
        "which the power law should be first"
    )
    paper = "users who opt in to share their item can tell the family of the frequencies"
    return Claim("Opt-in and the family", paper, (Finding(found, verdict_of_comparisons(signs, results.enough)),))
