"""The tables of the page that `localdp bench` writes, in Markdown; `page.md` is the text around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from localdp.bench.cases import ONE_THREAD, Case
from localdp.bench.growth import Growth
from localdp.bench.javascript import InJavaScript
from localdp.bench.machine import EXPONENTIALS, Limits
from localdp.bench.one_report import OneReport
from localdp.bench.shares import Share
from localdp.bench.timing import Timings


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table.

    >>> print(table(("step", "best"), [("read", "1 s")]))
    | step | best |
    | --- | --- |
    | read | 1 s |
    """
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def microseconds(seconds: float) -> str:
    """A time in microseconds with three significant digits, or as a whole number from 1,000 on.

    >>> microseconds(0.0123456), microseconds(1.23456e-6)
    ('12,346', '1.23')
    """
    number = 1e6 * seconds
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def against_peers(cases: Iterable[tuple[Case, Mapping[str, Timings]]], steps: tuple[str, ...]) -> str:
    """Microseconds for each user of every side, and how many times longer the fastest peer takes.

    With each case come its times by side and step, as `cases.measure` returns them.
    """
    rows = []
    for case, sides in cases:
        for step in steps:
            peers = {peer.label: sides[peer.label][step] for peer in case.peers}
            fastest = min(peers.values())
            fast, numpy, fast_alone, numpy_alone = (
                sides[side][step] for side in ("fast", "numpy", f"fast, {ONE_THREAD}", f"numpy, {ONE_THREAD}")
            )
            rows.append(
                [
                    case.mechanism,
                    f"{case.users:,}",
                    f"{case.size:,}",
                    f"{case.epsilon:g}",
                    {"both": "privatize + aggregate"}.get(step, step),
                    microseconds(fast),
                    microseconds(numpy),
                    "; ".join(f"{name} {microseconds(took)}" for name, took in peers.items()),
                    f"**{fastest / fast:,.0f}**",
                    f"{fastest / numpy:,.0f}",
                    f"{numpy / fast:.1f}",
                    f"{numpy_alone / fast_alone:.1f}",
                ]
            )
    heads = ("", "n", "d", "epsilon", "step", "fast, µs", "NumPy, µs", "peers, µs")
    ratios = ("fastest peer / fast", "fastest peer / NumPy", "NumPy / fast", f"NumPy / fast, {ONE_THREAD}")
    return table((*heads, *ratios), rows)


def against_machine(limits: Limits, shares: Iterable[Share]) -> str:
    """The limits of the machine, and the share of each that we reach."""
    measured = (
        f"Reading memory: {limits.read_speed / 1e9:.1f} GB/s. "
        f"AES-128-CTR keystream: {limits.keystream_speed / 1e9:.1f} GB/s. "
        f"`np.exp` of {EXPONENTIALS:,} numbers: {limits.exponential_seconds:.3f} s."
    )
    rows = [
        [share.what, share.limit, f"**{share.reached['fast']:.2f}**", f"{share.reached['numpy']:.2f}"]
        for share in shares
    ]
    return measured + "\n\n" + table(("work", "limit", "share of the limit, fast", "NumPy"), rows)


def end_to_end(runs: Mapping[str, Mapping[str, float]]) -> str:
    """The measurements of the whole pipeline at each epsilon, as `localdp.bench.pipeline --json` prints them."""
    labels = {
        **{step: step for step in ("privatize", "aggregate", "estimate", "calibrate", "total")},
        "first total": "total, first run",
        "bincount": "`np.bincount`",
        "write": "write the reports",
        "read": "read the reports",
    }
    columns = list(runs.values())
    rows = [[label, *(f"{run[step]:.3f} s" for run in columns)] for step, label in labels.items()]
    rows += [
        ["total / `np.bincount`", *(f"**{run['total'] / run['bincount']:.0f}**" for run in columns)],
        ["peak memory", *(f"{run['peak bytes'] / 2**30:.2f} GiB" for run in columns)],
        ["stated standard error", *(f"{run['stated deviation']:,.1f}" for run in columns)],
        ["noise / stated standard error: mean", *(f"{run['mean']:+.4f}" for run in columns)],
        ["noise / stated standard error: deviation", *(f"{run['deviation']:.4f}" for run in columns)],
    ]
    return table(("", *(f"epsilon {epsilon}" for epsilon in runs)), rows)


def growing(growths: Iterable[Growth]) -> str:
    """Nanoseconds for each unit at every size, and the last of them divided by the first."""
    rows = []
    for growth in growths:
        for step, nanoseconds in growth.nanoseconds.items():
            cells = (f"{size:,}: {took:,.3g}" for size, took in zip(growth.sizes, nanoseconds, strict=True))
            ratio = nanoseconds[-1] / nanoseconds[0]
            rows.append([growth.what, step, growth.unit, ", ".join(cells), f"{ratio:.2f}"])
    return table(("", "step", "ns for each", "at each size", "last / first"), rows)


def starting(best: Mapping[str, float]) -> str:
    """Seconds of each way to start."""
    return table(("", "best"), ([f"`{name}`", f"{took:.3f} s"] for name, took in best.items()))


def in_javascript(measured: Iterable[InJavaScript]) -> str:
    """Reports a second in Node, and the longest waits in milliseconds; a remark if nothing was measured."""
    heads = ("", "d", "epsilon", "fresh, reports/s", "derived, reports/s", "first parse, ms", "first report, ms")
    rows = [
        [
            one.mechanism,
            f"{one.size:,}",
            f"{one.epsilon:g}",
            *(f"{1000 / took:,.0f}" for took in (one.fresh, one.derived)),
            *(f"{took:.1f}" for took in (one.parse, one.first)),
        ]
        for one in measured
    ]
    return table(heads, rows) if rows else "(Node was not there.)"


def one_at_a_time(measured: Iterable[OneReport]) -> str:
    """Microseconds for one report in a call of its own."""
    heads = ("", "d", "epsilon", "`privatize`, µs", "client, derived, µs", "client, remembered, µs")
    rows = (
        [one.mechanism, f"{one.size:,}", f"{one.epsilon:g}", *(microseconds(took) for took in one.took.values())]
        for one in measured
    )
    return table(heads, rows)
