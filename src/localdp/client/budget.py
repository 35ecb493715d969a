"""What a device has spent, and the cap that its owner sets.

Every value that a device reports under a plan has its own permanent response, which spends the epsilon of the plan
once, however often it is reported. So the device has spent

    the sum, over all plans, of (the number of different values reported under the plan) x (the plan's epsilon),

and the cap holds for this sum, or for what of it is spent in one day, week, month or year. It spans plans on purpose:
whoever asked the same question under one new plan after the other would otherwise get one new permanent response after
the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from localdp.client.diary import Diary, Pages
from localdp.client.periods import period_of
from localdp.client.record import Record
from localdp.client.store import Store
from localdp.errors import BudgetError, InvalidInputError
from localdp.validation import checked_number


class Budget:
    """The spending that a store records, and the cap `most`, which holds for each period `every` if one is given."""

    def __init__(self, store: Store, most: float, diary: Diary, every: str | None = None) -> None:
        self._store, self._diary, self._every = store, diary, every
        period_of(every)
        self.most = checked_number(most, "most, the cap of a device, is a number")
        if not 0 < self.most < math.inf:
            raise InvalidInputError(f"most, the cap of a device, is a finite number above 0, not {self.most:g}")
        whole = store.read_whole()
        self._paid = frozenset() if whole is None else frozenset(whole.paid)

    @property
    def spent(self) -> float:
        """What this device has spent, through this and any other process."""
        return math.fsum(self._store.read().paid.values())

    @property
    def left(self) -> float:
        """What may still be spent, in this period if there are periods."""
        return max(0.0, self.most - (self.spent - self._before()))

    def _before(self) -> float:
        """What was spent before this period. When a period begins, what was spent by then is written down.

        A clock that is set back begins none, and what was spent before the first one that is known of counts in it.
        """
        if self._every is None:
            return 0.0
        at, spent = period_of(self._every), self.spent

        def noted(pages: Pages) -> bool:
            known = pages.get("before")
            if known is not None and known["every"] != self._every:
                known = None
            if known is not None and known["at"] >= at:
                return False
            pages["before"] = {"every": self._every, "at": at, "spent": 0.0 if known is None else spent}
            return True

        return float(self._diary.change(noted)["before"]["spent"])

    def pay(self, digest: bytes, epsilon: float, before: Callable[[], None] | None = None) -> None:
        """Record the spending of what the digest stands for, unless it was paid for before.

        When this returns, the payment is on the disk. A `BudgetError` says that the cap is reached. `before` is called
        just before a new payment is written, under the lock of the store, and never for one that was made before.
        """
        if digest in self._paid:  # payments are never taken back, so there is no need to look at the disk
            return
        earlier = self._before()
        period = "" if self._every is None else f" in this {self._every}"

        def with_payment(record: Record) -> Record:
            if digest in record.paid:
                return record
            # Sums are rounded once, at the end, so that ten times 0.1 is 1.
            spent = math.fsum(record.paid.values())
            if math.fsum([*record.paid.values(), epsilon, -earlier]) > self.most:
                raise BudgetError(
                    f"a new value would spend epsilon {epsilon:.6g}, and this device has spent {spent - earlier:.6g} "
                    f"of at most {self.most:g}{period}: it reports no new values, and nothing was released"
                )
            if before is not None:
                before()
            return record.with_payment(digest, epsilon)

        self._paid = frozenset(self._store.change(with_payment).paid)
