"""The figures as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from localdp.bench.cases import ALONE, Case
from localdp.bench.growth import Growth
from localdp.bench.limits import Share
from localdp.bench.timing import Steps

Figures = dict[str, Steps]


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def microseconds(seconds: float) -> str:
    """Three digits of a time, or all before the point."""
    figure = 1e6 * seconds
    return f"{figure:,.0f}" if figure >= 1000 else f"{figure:.3g}"


def against_peers(cases: list[tuple[Case, Figures]], steps: tuple[str, ...]) -> str:
    """Microseconds a user, and how many times the fastest peer takes."""
    rows = []
    for case, figures in cases:
        for step in steps:
            others = {name: figures[name][step] for name in case.peers}
            fastest = min(others, key=others.__getitem__)
            fast, plain, fast_alone, plain_alone = (
                figures[side][step] for side in ("fast", "numpy", f"fast, {ALONE}", f"numpy, {ALONE}")
            )
            rows.append(
                [
                    case.mechanism,
                    f"{case.users:,}",
                    f"{case.size:,}",
                    f"{case.epsilon:g}",
                    {"both": "privatize + aggregate"}.get(step, step),
                    microseconds(fast),
                    microseconds(plain),
                    "; ".join(f"{name} {microseconds(took)}" for name, took in others.items()),
                    f"**{others[fastest] / fast:,.0f}**",
                    f"{others[fastest] / plain:,.0f}",
                    f"{plain / fast:.1f}",
                    f"{plain_alone / fast_alone:.1f}",
                ]
            )
    heads = ("", "n", "d", "epsilon", "step", "fast, µs", "NumPy, µs", "peers, µs")
    return table(
        (*heads, "fastest peer / fast", "fastest peer / NumPy", "NumPy / fast", f"NumPy / fast, {ALONE}"), rows
    )


def against_machine(limits: dict[str, float], shares: list[Share]) -> str:
    """The limits, and what share of them is reached."""
    measured = (
        f"Reading memory: {limits['read'] / 1e9:.1f} GB/s. "
        f"AES-128-CTR keystream: {limits['keystream'] / 1e9:.1f} GB/s. "
        f"`np.exp` of 10,000,000 numbers: {limits['exponential']:.3f} s."
    )
    rows = [
        [share.what, share.limit, f"**{share.reached['fast']:.2f}**", f"{share.reached['numpy']:.2f}"]
        for share in shares
    ]
    return measured + "\n\n" + table(("work", "would take at least", "share reached, fast", "NumPy"), rows)


def end_to_end(runs: dict[str, dict[str, float]]) -> str:
    """Seconds of each step of the pipeline, for each epsilon."""
    steps = ("privatize", "aggregate", "estimate", "calibrate", "in all", "first in all", "bincount", "write", "read")
    rows = [[step, *(f"{figures[step]:.3f} s" for figures in runs.values())] for step in steps]
    rows.append(
        ["in all / bincount", *(f"**{figures['in all'] / figures['bincount']:.0f}**" for figures in runs.values())]
    )
    rows.append(["peak memory", *(f"{figures['peak bytes'] / 2**30:.2f} GiB" for figures in runs.values())])
    rows.append(["standard error, stated", *(f"{figures['stated deviation']:,.1f}" for figures in runs.values())])
    for part in ("mean", "deviation"):
        rows.append([f"error over its stated deviation, {part}", *(f"{run[part]:+.4f}" for run in runs.values())])
    return table(("", *(f"epsilon {epsilon}" for epsilon in runs)), rows)


def growing(growths: list[Growth]) -> str:
    """Nanoseconds a unit at every size, and the last over the first."""
    rows = []
    for growth in growths:
        for step, nanoseconds in growth.steps.items():
            cells = (f"{size:,}: {took:,.3g}" for size, took in zip(growth.sizes, nanoseconds, strict=True))
            ratio = nanoseconds[-1] / nanoseconds[0]
            rows.append([growth.what, step, growth.unit, ", ".join(cells), f"{ratio:.2f}"])
    return table(("", "step", "ns for each", "at each size", "last / first"), rows)
