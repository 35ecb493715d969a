"""What we measure beyond the paper: distance from the limit, intervals, few items, and what opt-in users add."""

from __future__ import annotations

import math
from collections.abc import Iterator

from localdp.datasets import Dataset
from localdp.experiments.claims import pairs
from localdp.experiments.claims.verdicts import Claim, Finding
from localdp.experiments.measures import few_items, opt_in
from localdp.experiments.results import Results
from localdp.experiments.tasks import AUTO, LIKELIHOOD, MOMENTS, ORACLE, RAW, THRESHOLD_EPSILON, ZERO
from localdp.plan import Plan


def claims(results: Results, data: Dataset, epsilons: list[float]) -> Iterator[Claim]:
    """Our own measurements, as far as they were made on this data set."""
    yield _gain_of_auto(results, data, epsilons)
    yield _limit(results, data, epsilons)
    yield _coverage(results, data, epsilons)
    for part in (few_items.most_frequent(data), few_items.falling(data)):
        if results.has(part.label, THRESHOLD_EPSILON, RAW, few_items.LIGHT, "ss"):
            yield _few(results, part, data.d)
    if results.has(data.label, 1.0, opt_in.CALIBRATED, opt_in.ERROR):
        yield _opt_in(results, data)


def _gain_of_auto(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    gains = {
        epsilon: pairs.gain(*(results.find(data.label, epsilon, method) for method in (ZERO, AUTO)))
        for epsilon in epsilons
    }
    shown = ", ".join(f"{gain.value:.1%} ± {gain.std_error:.1%} at {epsilon:g}" for epsilon, gain in gains.items())
    found = f"(Zero - Calibrate)/Calibrate with `auto` instead of the power law, at each epsilon: {shown}"
    return Claim("Gain with `auto`", "", (Finding(found),))


def _limit(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    def ratio_to_oracle(method: str) -> str:
        ratios = [
            results.error(data.label, epsilon, method) / results.error(data.label, epsilon, ORACLE)
            for epsilon in epsilons
        ]
        return f"{min(ratios):.3f} to {max(ratios):.3f}"

    found = (
        f"error divided by the oracle's: {ratio_to_oracle(AUTO)} for `auto`, {ratio_to_oracle(MOMENTS)} for Calibrate "
        f"(mv), {ratio_to_oracle(LIKELIHOOD)} for Calibrate (mle), {ratio_to_oracle(ZERO)} for Zero"
    )
    return Claim("Distance from the limit", "", (Finding(found),))


def _coverage(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    shares = [results.find(data.label, epsilon, AUTO, "covered").mean for epsilon in epsilons]
    heavy = [results.find(data.label, epsilon, AUTO, "heavy covered").mean for epsilon in epsilons]
    found = f"90% intervals contain {min(shares):.1%} to {max(shares):.1%} of the true frequencies"
    if known := [share for share in heavy if not math.isnan(share)]:
        found += f"; for items estimated above the significance threshold, {min(known):.1%} to {max(known):.1%}"
    return Claim("Intervals", "", (Finding(found),))


def _few(results: Results, part: Dataset, d: int) -> Claim:
    def measured(method: str, metric: str) -> float:
        return results.find(part.label, THRESHOLD_EPSILON, method, metric, mechanism="ss").mean

    ours, raw = (
        results.find(part.label, THRESHOLD_EPSILON, method, few_items.TOTAL, mechanism="ss")
        for method in (LIKELIHOOD, RAW)
    )
    sign = pairs.difference(ours, raw).sign
    outcome = {1: "worse than no prior", 0: "a tie with no prior", -1: "better than no prior"}
    deviation = math.sqrt(Plan(part.d, "ss", THRESHOLD_EPSILON).mechanism.variance(part.n))
    smallest = int(part.frequencies.min())
    methods = {"raw": RAW, "mean-variance": MOMENTS, "mle": LIKELIHOOD, "`auto`": AUTO}
    errors = ", ".join(f"{name} {measured(method, few_items.TOTAL):,.0f}" for name, method in methods.items())
    found = (
        f"error: {errors}. The power law by mle is {outcome[sign]}. {'Why: the' if sign > 0 else 'The'} rarest item "
        f"has {smallest:,} users, {smallest / deviation:.1f} deviations of the noise, but the fitted power law on "
        f"1..n has {measured(LIKELIHOOD, few_items.BELOW):.0%} of its mass on smaller frequencies. So it changes the "
        f"less frequent half of the items by {measured(LIKELIHOOD, few_items.BIAS):+,.0f} users on average (`auto`: "
        f"{measured(AUTO, few_items.BIAS):+,.0f}). This half contributes "
        f"{measured(LIKELIHOOD, few_items.LIGHT):,.0f} to the error by mle and {measured(RAW, few_items.LIGHT):,.0f} "
        f"to the raw one; the other half, {measured(LIKELIHOOD, few_items.HEAVY):,.0f} and "
        f"{measured(RAW, few_items.HEAVY):,.0f}, of which the most frequent item, with "
        f"{part.frequencies.max() / part.n:.0%} of the users, {measured(LIKELIHOOD, few_items.FIRST):,.0f} and "
        f"{measured(RAW, few_items.FIRST):,.0f}"
    )
    kinds = {few_items.FALLING: f"frequencies that fall as rank^-{few_items.FALL:g}"}
    name = part.label.rpartition(", ")[2]
    kind = kinds.get(name, "all items" if part.d == d else "the most frequent ones")
    return Claim(f"Few items: {part.d} with `ss`, {kind}", "", (Finding(found),))


def _opt_in(results: Results, data: Dataset) -> Claim:
    def error(method: str) -> str:
        return f"{results.find(data.label, 1.0, method, opt_in.ERROR).mean:,.0f}"

    nobody, best = (results.find(data.label, 1.0, each, opt_in.ERROR) for each in (opt_in.NOBODY, opt_in.CALIBRATED))
    gain = pairs.gain(nobody, best)
    found = (
        f"error at epsilon 1 if nobody opts in (`auto`): {error(opt_in.NOBODY)}. If {opt_in.SHARE:.0%} of the users "
        f"opt in: {error(opt_in.PRIOR_ONLY)} if their counts serve as the prior of the private answers, "
        f"{error(opt_in.COUNTS_ONLY)} from their counts alone, scaled up, {error(opt_in.COMBINED)} if `combine` "
        f"weighs them with the private answers, and {error(opt_in.CALIBRATED)} if that is calibrated. The first "
        f"error is larger than the last one by {gain.value:.0%} ± {gain.std_error:.0%}. Few open answers outweigh "
        "many private ones, but those who give them have no privacy"
    )
    return Claim("What opt-in users add", "", (Finding(found),))
