"""What a device has spent, and the cap that its owner sets.

Every value that a device reports under a plan has its own permanent response, which spends the epsilon of the plan
once, however often it is reported. So the device has spent

    the sum, over all plans, of (the number of different values reported under the plan) x (the plan's epsilon),

and the cap holds for this sum. It spans plans on purpose: whoever asked the same question under one new plan after the
other would otherwise get one new permanent response after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from localdp.client.record import Record
from localdp.client.store import Store
from localdp.errors import BudgetError, InvalidInputError
from localdp.validation import checked_number


class Budget:
    """The spending that a store records, and the cap `most`."""

    def __init__(self, store: Store, most: float) -> None:
        self._store = store
        self.most = checked_number(most, "most, the cap of a device, is a number")
        if not 0 < self.most < math.inf:
            raise InvalidInputError(f"most, the cap of a device, is a finite number above 0, not {self.most:g}")
        whole = store.read_whole()
        self._paid = frozenset() if whole is None else frozenset(whole.paid)

    @property
    def spent(self) -> float:
        """What this device has spent, through this and any other process."""
        return math.fsum(self._store.read().paid.values())

    def pay(self, digest: bytes, epsilon: float, before: Callable[[], None] | None = None) -> None:
        """Record the spending of what the digest stands for, unless it was paid for before.

        When this returns, the payment is on the disk. A `BudgetError` says that the cap is reached. `before` is called
        just before a new payment is written, under the lock of the store, and never for one that was made before.
        """
        if digest in self._paid:  # payments are never taken back, so there is no need to look at the disk
            return

        def with_payment(record: Record) -> Record:
            if digest in record.paid:
                return record
            # Sums are rounded once, at the end, so that ten times 0.1 is 1.
            spent = math.fsum(record.paid.values())
            if math.fsum([*record.paid.values(), epsilon]) > self.most:
                raise BudgetError(
                    f"a new value would spend epsilon {epsilon:.6g}, and this device has spent {spent:.6g} of "
                    f"at most {self.most:g}: it reports no new values, and nothing was released"
                )
            if before is not None:
                before()
            return record.with_payment(digest, epsilon)

        self._paid = frozenset(self._store.change(with_payment).paid)
