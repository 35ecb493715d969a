"""What a device does that is asked the same question again and again: a permanent response, and reports made from it.

Two fresh reports of one value spend twice the budget. A device therefore perturbs its value once, keeps the result (the
*permanent response*), and makes every report from it. However many reports it sends, they tell no more than the
permanent response does:

    Pr(r_1, .., r_k | x) = sum over responses s of Pr(s | x) Pr(r_1 | s) .. Pr(r_k | s),

and where Pr(s | x) is at most e^epsilon Pr(s | y) for every s, so is the sum for all k reports together.

Most mechanisms send the permanent response as it is. `chains` perturbs it once more for each report. Then one report
alone tells less than epsilon, and devices cannot be recognised by bits that never change.

>>> from localdp.mechanisms import create
>>> from localdp.randomness.keystream import Keystream, secure
>>> mechanism = create("auto", size=100, epsilon=2.0, once=0.5).mechanism
>>> key = bytes(16)  # derived by a pseudorandom function from a secret of the device, the plan and the value
>>> kept = mechanism.permanent(np.array([7]), Keystream(key))
>>> (kept == mechanism.permanent(np.array([7]), Keystream(key))).all()
np.True_
>>> monday, tuesday = mechanism.again(kept, secure()), mechanism.again(kept, secure())
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from localdp.errors import WireCode, WireError
from localdp.frozen import Frozen
from localdp.held import Held
from localdp.randomness import thresholds
from localdp.randomness.keystream import Entropy
from localdp.types import Indices, Progress, Rows, Words

Randomize = Callable[[Indices, Entropy], Rows]
"""A function that makes one row of bytes for each number, from a source of randomness."""


class AskedAgain(Frozen, ABC):
    """The part of every mechanism that answers again. The defaults send the permanent response as it is."""

    perturbs_again: ClassVar[bool] = False
    """Whether every report perturbs the permanent response once more."""
    keeps_buckets: ClassVar[bool] = False
    """Whether a device has one permanent response for several values, as `hashing_twice` explains."""

    size: int
    requested_epsilon: float
    width: int

    def respond(self, held: Held, source: Entropy) -> Rows:
        """The permanent response of each user, from what users hold."""
        return self.permanent(held.one_each(), source)

    def permanent(self, values: Indices, source: Entropy, *, progress: Progress | None = None) -> Rows:
        """The response to each value that a device keeps and makes all its reports from, with `again`.

        However many reports are made from it, together they spend `epsilon`. A device that does not store responses
        makes them anew, always from the same stream: its key is derived by a pseudorandom function from a secret of
        the device, the fingerprint of the plan and the value. One stream must never serve two values: their responses
        would have the same noise, and differ just where the values do. A response has the layout of a report.
        """
        return self._randomized(self.randomize_permanent, values, source, progress)

    def again(self, permanent: Rows, source: Entropy, *, progress: Progress | None = None) -> Rows:
        """One report from each permanent response. The stream must be a fresh one every time.

        One report alone spends `epsilon_once`. Responses that no client can have made are a `WireError`.
        """
        rows = np.asarray(permanent)
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != self.report_bytes:
            raise WireError(
                WireCode.WRONG_LENGTH,
                f"permanent responses are rows of {self.report_bytes} bytes, not {rows.dtype} {rows.shape}",
            )
        rows = rows.copy()  # what was checked stays as it is
        self.validate(rows)

        def randomize(chunk: Indices, stream: Entropy) -> Rows:
            return self.randomize_again(rows[chunk], stream)

        return self._in_chunks(randomize, np.arange(len(rows)), source, progress)

    @cached_property
    def epsilon_once(self) -> float:
        """The realised privacy budget of one report alone, rounded up to a float; at most `requested_once`."""
        return thresholds.log_rounded_up(self.ratio_once)

    # What an author may replace.

    @property
    def ratio_once(self) -> Fraction:
        """As `ratio`, for one report alone. It is less where every report perturbs a permanent response."""
        return self.ratio

    @property
    def requested_once(self) -> float:
        """The privacy budget asked for one report alone."""
        return self.requested_epsilon

    def randomize_permanent(self, values: Indices, source: Entropy) -> Rows:
        """The permanent response to each value, as `randomize` makes reports. Here it is a report like any other."""
        return self.randomize(values, source)

    def randomize_again(self, permanent: Rows, source: Entropy) -> Rows:  # noqa: ARG002 (nothing is added here)
        """A report from each permanent response. Here it is the response itself, so that it never changes."""
        return permanent

    def bucket(self, values: Indices, source: Entropy) -> Words:  # noqa: ARG002 (a value is its own bucket here)
        """A number for the values that share a permanent response with this one.

        The stream belongs to the device and the plan, and is the same for all values.
        """
        return values.astype(np.uint64)

    def randomize_bucket(self, buckets: Words, source: Entropy) -> Rows:
        """The permanent response of each bucket."""
        return self.randomize_permanent(buckets.astype(np.int64), source)

    def options(self) -> dict[str, Any]:
        """What the constructor takes besides size, epsilon and width. A plan carries it under the same names."""
        return {}

    @classmethod
    def examples(cls, size: int, epsilon: float) -> Iterator[Self]:
        """The mechanism for the public checks, once for each choice of options that they must try."""
        yield cls(size, epsilon)  # type: ignore[call-arg]  # the constructor is that of `Mechanism`

    # What `Mechanism` brings.

    @property
    @abstractmethod
    def ratio(self) -> Fraction: ...

    @property
    @abstractmethod
    def report_bytes(self) -> int: ...

    @abstractmethod
    def randomize(self, values: Indices, source: Entropy) -> Rows: ...

    @abstractmethod
    def validate(self, rows: Rows) -> None: ...

    @abstractmethod
    def _randomized(
        self, randomize: Randomize, values: Indices, source: Entropy, progress: Progress | None
    ) -> Rows: ...

    @abstractmethod
    def _in_chunks(self, randomize: Randomize, values: Indices, source: Entropy, progress: Progress | None) -> Rows: ...
