"""Days, weeks, months and years, by the clock of the device and in UTC. Weeks begin on Mondays."""

from __future__ import annotations

import time

from localdp.errors import InvalidInputError

_DAY = 86_400
EVERY = ("day", "week", "month", "year")


def period_of(every: str | None, moment: float | None = None) -> int:
    """The number of the period that a moment, in seconds, is in: now, unless given. Without `every` there is one.

    >>> period_of("week", 4 * 86_400) - period_of("week", 3 * 86_400)  # 1970 began on a Thursday
    1
    >>> period_of("month", 0), period_of(None)
    (23640, 0)
    """
    if every is None:
        return 0
    if every not in EVERY:
        raise InvalidInputError(f"a period is one of {', '.join(EVERY)}, not {every!r:.60}")
    now = time.time() if moment is None else moment
    if every in ("day", "week"):
        day = int(now // _DAY)
        return day if every == "day" else (day + 3) // 7
    date = time.gmtime(now)
    return date.tm_year if every == "year" else 12 * date.tm_year + date.tm_mon - 1


def is_over(every: str | None, since: float) -> bool:
    """Whether a new period has begun since a moment.

    A moment more than a period ahead is of a clock that was wrong, and counts as long ago. One less far ahead does not,
    or a clock that is set back by an hour would let a device answer twice.
    """
    passed = period_of(every) - period_of(every, since)
    return passed > 0 or passed < -1
