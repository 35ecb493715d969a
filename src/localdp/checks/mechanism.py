"""What a mechanism must satisfy: exact privacy, an honest channel, unbiased estimates, a strict wire.

Exact checks enumerate; statistical ones are seeded and fail by chance at most once in a million runs of the
whole suite on a correct mechanism (each test takes its share of `FALSE_ALARMS`).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, permutations
from types import FrameType
from typing import Any

import numpy as np

from localdp import bitstrings, exact
from localdp.checks.failure import require
from localdp.checks.tapes import Law, bits_read
from localdp.entropy import Keystream, seeded
from localdp.errors import ChannelTooLargeError, ImpureMechanismError, LocalDPError, WireCode, WireError
from localdp.mechanisms import MECHANISMS, Mechanism
from localdp.plan import Aggregate, Plan

SIZES = (2, 3, 4, 5)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
FALSE_ALARMS = 1e-6
LONGEST_TAPE = 18

_SAMPLES = 100_000
_RUNS = 1_200
_USERS = 400

Kind = type[Mechanism]


def check_mechanism(kind: Kind | str, seed: int = 0) -> None:
    """Run every check on a mechanism class (or the name of one of ours); `CheckFailure` if one fails."""
    resolved = MECHANISMS[kind] if isinstance(kind, str) else kind
    for check in MECHANISM_CHECKS:
        check(resolved, seed)


def check_exact_privacy(kind: Kind, seed: int = 0) -> None:  # noqa: ARG001 (nothing here is random)
    """Over all tapes: no ratio above e^epsilon, the stated one reached, and the stated channel, p* and q*."""
    for mechanism in _enumerable(kind):
        length = bits_read(mechanism)
        laws = [Law(mechanism, value, length) for value in range(mechanism.size)]
        probabilities = [law.probabilities for law in laws]
        _require_ratio(mechanism, probabilities)
        _require_channel(mechanism, probabilities)
        if mechanism.exactly_pure:
            _require_purity(mechanism, probabilities)
        require(
            all(np.array_equal(law.read, laws[0].read) for law in laws),
            f"{mechanism!r} reads a different number of bits for different values",
        )
        if (laws[0].read > length).any() and length + mechanism.width <= LONGEST_TAPE + 3:
            longer = Law(mechanism, mechanism.size - 1, length + mechanism.width)
            require(
                longer.probabilities == probabilities[-1],
                f"{mechanism!r} has another law when a rejected draw is drawn again",
            )


def check_samples_match_channel(kind: Kind, seed: int = 0) -> None:
    """Chi-square of sampled reports against the channel."""
    from scipy.stats import chi2

    mechanisms = [_listable(mechanism) for mechanism in _instances(kind)]
    alpha = FALSE_ALARMS / sum(mechanism.size for mechanism in mechanisms)
    for mechanism in mechanisms:
        channel = mechanism.channel()
        order = np.argsort(bitstrings.to_integers(channel.reports))
        known = bitstrings.to_integers(channel.reports)[order]
        for value, probabilities in enumerate(np.asarray(channel)[:, order]):
            source = _narrowed(seeded(seed + value), mechanism.width)
            rows = mechanism.randomize(np.full(_SAMPLES, value, np.int64), source)
            reports = bitstrings.to_integers(rows)
            place = np.minimum(np.searchsorted(known, reports), known.size - 1)
            require((known[place] == reports).all(), f"{mechanism!r} sent a report that its channel does not list")
            observed = np.bincount(place, minlength=known.size)
            statistic, freedom = _chi_square(observed, probabilities * _SAMPLES)
            require(
                statistic <= chi2.isf(alpha, freedom),
                f"reports of {mechanism!r} for value {value} do not follow its channel: chi-square "
                f"{statistic:.1f} on {freedom} degrees of freedom",
            )


def check_estimates(kind: Kind, seed: int = 0) -> None:
    """Support probabilities, unbiasedness and stated variance, for items held by nobody, some and everybody."""
    from scipy.stats import norm

    size, some = 6, _USERS // 4
    populations = ([0, some, _USERS - some, 0, 0, 0], [0, 0, 0, 0, 0, _USERS])
    mechanisms = list(_instances(kind, sizes=(size,)))
    limit = norm.isf(FALSE_ALARMS / (6 * size * len(mechanisms) * len(populations)))
    for mechanism in mechanisms:
        for population in map(np.array, populations):
            values = np.tile(np.repeat(np.arange(size), population), _RUNS)
            rows = mechanism.privatize(values, seeded(seed))
            counts = np.array([mechanism.count(run) for run in rows.reshape(_RUNS, _USERS, -1)])
            estimates = np.array([mechanism.estimate(run, _USERS) for run in counts])
            variance = mechanism.variance(_USERS) + population * mechanism.excess_variance
            bias = (estimates.mean(axis=0) - population) / np.sqrt(np.maximum(variance, 1e-12) / _RUNS)
            require(
                (np.abs(bias) <= limit).all(),
                f"{mechanism!r} is biased for frequencies {population.tolist()}: by "
                f"{bias.round(1).tolist()} standard errors",
            )
            spread = (estimates.var(axis=0) / np.maximum(variance, 1e-12) - 1) / np.sqrt(2 / _RUNS)
            require(
                (np.abs(spread) <= limit).all(),
                f"{mechanism!r} does not have its stated variance for frequencies {population.tolist()}: off by "
                f"{spread.round(1).tolist()} standard errors",
            )


def check_value_independence(kind: Kind, seed: int = 0) -> None:
    """Same report length, same number of random bytes and same lines executed for every value."""
    for mechanism in _instances(kind):
        seen = []
        for value in range(mechanism.size):
            source = _CountingKeystream(seed)
            with _Tracer() as tracer:
                rows = mechanism.randomize(np.full(500, value, np.int64), source)
            seen.append((rows.shape, source.drawn, tracer.lines))
        for value, (one, other) in enumerate(pairwise(seen)):
            require(
                one[0] == other[0],
                f"the report of {mechanism!r} is longer for value {value + 1} than for {value}",
            )
            require(
                one[1] == other[1],
                f"{mechanism!r} draws more randomness for value {value + 1} than for {value}",
            )
            require(one[2] == other[2], f"{mechanism!r} takes another path for value {value + 1} than for {value}")


def check_wire(kind: Kind, seed: int = 0) -> None:
    """Reports come back as they were sent, and nothing that is not a report gets in."""
    rng = np.random.default_rng(seed)
    for mechanism in _instances(kind, sizes=(2, 5, 8, 70)):
        plan = Plan(mechanism.size, mechanism)
        reports = plan.privatize(rng.integers(0, mechanism.size, 50), seed=seed)
        data = reports.to_bytes()
        for twin in (data, reports.to_json()):
            require(
                np.array_equal(plan.read(twin).rows, reports.rows),
                f"{mechanism!r} does not survive the wire unchanged",
            )
        malformed = [
            (b"LDPX" + data[4:], WireCode.BAD_MAGIC),
            (data[:4] + bytes(16) + data[20:], WireCode.UNKNOWN_PLAN),
            (data[:-1], WireCode.TRUNCATED),
            (data + b"\0", WireCode.TRAILING_BYTES),
        ]
        if mechanism.report_bits % 8:
            malformed.append((data[:-1] + bytes([data[-1] | 0x80]), WireCode.NONZERO_PADDING))
        for batch, code in malformed:
            _require_refused(plan, batch, code)
        _require_only_known_reports(plan, rng)


def check_merging(kind: Kind, seed: int = 0) -> None:
    """Counts agree with the definition of support, and adding up in any order gives the same aggregate."""
    rng = np.random.default_rng(seed)
    for mechanism in _instances(kind, sizes=(2, 5, 33)):
        plan = Plan(mechanism.size, mechanism)
        reports = plan.privatize(rng.integers(0, mechanism.size, 60), seed=seed)
        whole = plan.aggregate(reports)
        defined = [int(mechanism.supports(reports.rows, item).sum()) for item in range(mechanism.size)]
        require(whole.counts.tolist() == defined, f"{mechanism!r} does not count what its reports support")
        for order in permutations((reports[:1], reports[1:20], reports[20:])):
            merged = Aggregate(plan)
            for part in order:
                merged.merge(plan.aggregate(part))
            require(merged == whole, f"{mechanism!r} depends on the order in which aggregates are merged")


MECHANISM_CHECKS: tuple[Callable[[Kind, int], None], ...] = (
    check_exact_privacy,
    check_samples_match_channel,
    check_estimates,
    check_value_independence,
    check_wire,
    check_merging,
)


def _instances(kind: Kind, sizes: tuple[int, ...] = SIZES) -> Iterator[Mechanism]:
    """The mechanism on small domains, at every epsilon where it is offered; it must be offered somewhere."""
    offered = False
    for size in sizes:
        for epsilon in EPSILONS:
            try:
                mechanism = kind(size, epsilon)
            except ImpureMechanismError:
                continue
            offered = True
            yield mechanism
    require(offered, f"{kind.name} is offered at none of the epsilons {EPSILONS}")


def _enumerable(kind: Kind) -> Iterator[Mechanism]:
    """Each instance at the largest width whose tapes can all be tried; every size must have one."""
    covered = set()
    for mechanism in _instances(kind):
        for width in range(mechanism.width if mechanism.width < 10 else 10, 0, -1):
            try:
                narrow = mechanism.at_width(width)
                if bits_read(narrow) > LONGEST_TAPE:
                    continue
            except LocalDPError:
                continue
            covered.add(mechanism.size)
            yield narrow
            break
    require(
        covered == set(SIZES),
        f"{kind.name} reads too many bits to try every tape on {set(SIZES) - covered} items",
    )


def _require_ratio(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    reports = set().union(*probabilities)
    require(
        all(set(law) == reports for law in probabilities),
        f"{mechanism!r} sends a report under one value that it never sends under another: no epsilon at all",
    )
    columns = ([law[report] for law in probabilities] for report in reports)
    ratio = max(max(column) / min(column) for column in columns)
    require(
        ratio <= exact.exp_below(mechanism.requested_epsilon),
        f"{mechanism!r} was asked for epsilon {mechanism.requested_epsilon} and realises {exact.log(ratio)}",
    )
    require(
        ratio == mechanism.ratio,
        f"{mechanism!r} states epsilon {mechanism.epsilon} and realises {exact.log(ratio)}",
    )


def _require_channel(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    channel = mechanism.channel()
    reports = bitstrings.to_integers(channel.reports).tolist()
    for value, (stated, found) in enumerate(zip(channel.probabilities, probabilities, strict=True)):
        require(
            dict(zip(reports, stated, strict=True)) == found,
            f"the channel of {mechanism!r} is not what it does with value {value}",
        )
    require(channel.ratio == mechanism.ratio, f"the channel of {mechanism!r} has another ratio than it states")


def _require_purity(mechanism: Mechanism, probabilities: list[dict[int, Fraction]]) -> None:
    for item in range(mechanism.size):
        for value, law in enumerate(probabilities):
            rows = bitstrings.from_integers(np.array(list(law), np.uint64), mechanism.report_bits)
            supporting = mechanism.supports(rows, item)
            found = sum((p for p, held in zip(law.values(), supporting, strict=True) if held), Fraction(0))
            require(
                found == (mechanism.p if item == value else mechanism.q),
                f"{mechanism!r} is not pure with its p* and q*: a holder of {value} supports {item} with "
                f"probability {found}",
            )


def _listable(mechanism: Mechanism) -> Mechanism:
    """The mechanism itself, or at 8 bits where its reports at 64 are too many to list."""
    try:
        mechanism.channel()
    except ChannelTooLargeError:
        return mechanism.at_width(8)
    return mechanism


def _narrowed(source: Keystream, width: int) -> Keystream:
    """A keystream whose integers have `width` bits."""
    if width == 64:
        return source
    full = source.integers
    source.width = width
    source.integers = lambda who: full(who) >> np.uint64(64 - width)  # type: ignore[method-assign]
    return source


def _chi_square(observed: Any, expected: Any) -> tuple[float, int]:
    """The statistic and its degrees of freedom, with cells of fewer than 10 expected pooled into one."""
    rare = expected < 10
    seen, due = observed[~rare], expected[~rare]
    if rare.any() and expected[rare].sum() >= 10:
        seen, due = np.append(seen, observed[rare].sum()), np.append(due, expected[rare].sum())
    return float(((seen - due) ** 2 / due).sum()), max(1, seen.size - 1)


def _require_refused(plan: Plan, batch: bytes, code: WireCode) -> None:
    try:
        plan.read(batch)
    except WireError as error:
        require(error.code == code, f"{plan!r} refused a batch as {error.code} that is {code}")
    else:
        require(False, f"{plan!r} accepted a batch that is {code}")


def _require_only_known_reports(plan: Plan, rng: np.random.Generator) -> None:
    """Random bytes are refused, or are a report that the channel lists."""
    mechanism = plan.mechanism
    if mechanism.size > 8:
        return
    try:
        listed = set(bitstrings.to_integers(mechanism.channel().reports).tolist())
    except ChannelTooLargeError:
        return
    for report in rng.integers(0, 1 << 8 * mechanism.report_bytes, 300, dtype=np.uint64):
        rows = bitstrings.from_integers(np.array([report]), 8 * mechanism.report_bytes)
        try:
            mechanism.validate(rows)
            accepted = True
        except WireError:
            accepted = False
        require(accepted == (int(report) in listed), f"{mechanism!r} misjudges the report {int(report):#x}")


class _CountingKeystream(Keystream):
    """A seeded keystream that knows how many words were drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(seeded(seed)._key)
        self.drawn = 0

    def words(self, count: int) -> Any:
        self.drawn += count
        return super().words(count)


class _Tracer:
    """Record the lines that run in this library's own files."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []
        self._root = inspect.getfile(Mechanism).rsplit("mechanisms", 1)[0]

    def __enter__(self) -> _Tracer:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        # A mechanism of somebody else's is traced too; NumPy and the standard library are not.
        if not frame.f_code.co_filename.startswith(self._root) and frame.f_code.co_name != "randomize":
            return None
        if event == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
        return self._trace
