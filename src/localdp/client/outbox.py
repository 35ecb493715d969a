"""All reports of a device that wait to be sent: a folder for each plan, and one bound for all of them together.

    the answer                                      what happens
    2xx                                             the report was delivered, and its file is removed
    400, 409, 410, 413, 415, 422                    it can never succeed: its file is removed, and the caller is told
    anything else, no answer, no network            it stays, and nothing more is tried until a pause is over

When the plan of an app changes, reports under the plan before it may still be waiting. A client sends those as well, if
they were made for an address of the same server. Others wait for a client of their own plan: reports that were made for
one collector are not shown to another one, and nobody knows what a function does with reports of another plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from localdp.client.plan_outbox import PlanOutbox
from localdp.client.private_files import names
from localdp.client.upload import HttpUpload, Upload
from localdp.errors import OutboxFullError

_PLAN_DIGITS = 16
_HEXADECIMAL = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Delivery:
    """What became of the reports in an outbox.

    `delivered` were taken by the collector, `waiting` are still on the disk. They will be tried again, `pause` seconds
    from now at the earliest, except `elsewhere` of them: these were made under other plans for another server or
    for a function, and wait for a client with that plan. `dropped` holds one sentence for each report that can never be
    delivered and was removed. `trouble` says why the last attempt failed, if it did. `asked` is False if the part
    of the study that is under way does not ask this device, so that there was nothing to send.
    """

    delivered: int = 0
    waiting: int = 0
    pause: float = 0.0
    dropped: tuple[str, ...] = ()
    trouble: str = ""
    elsewhere: int = 0
    asked: bool = True

    def after(self, earlier: Delivery) -> Delivery:
        """This delivery and an earlier one, as one."""
        total, dropped = earlier.delivered + self.delivered, earlier.dropped + self.dropped
        return replace(self, delivered=total, dropped=dropped)


class Outbox:
    """The waiting reports of a device, at most `most` of them under all plans together."""

    def __init__(self, folder: Path, fingerprint: str, most: int) -> None:
        self._folder = folder
        self._most = most
        self._plans: dict[str, PlanOutbox] = {}
        self._own = self._plan(fingerprint[:_PLAN_DIGITS])

    @property
    def waiting(self) -> int:
        """The number of waiting reports."""
        return sum(plan.waiting for plan in self._all())

    def check_room(self) -> None:
        """Raise an `OutboxFullError` if no more reports can wait."""
        if self.waiting < self._most:
            return
        others = self.waiting - self._own.waiting
        told = f" ({others:,} of them under other plans)" if others else ""
        raise OutboxFullError(
            f"{self._most:,} reports are waiting to be sent{told} in {self._folder}, and no more are taken: see "
            "whether the address is right and the server answers, and call flush. To give up those of a plan, "
            "remove its folder there"
        )

    @property
    def address(self) -> str | None:
        """The address that the client's own waiting reports were made for, if it is known."""
        return self._own.address

    def put(self, body: bytes, upload: Upload, upload_id: bytes | None = None, wording: int | None = None) -> None:
        """Keep a report until it is sent. When this returns, it is on the disk. The caller holds the store's lock.

        The upload id is drawn at random unless it is given. `wording` is the version that its person was shown.
        """
        self.check_room()
        self._own.put(body, upload.address if isinstance(upload, HttpUpload) else None, upload_id, wording)

    def empty(self) -> None:
        """Give up everything that waits, under every plan. The caller holds the store's lock."""
        for plan in self._all():
            plan.empty()

    def flush(self, upload: Upload, until: float = math.inf) -> Delivery:
        """Try to send every waiting report once, first those of the client's plan, until one fails for now."""
        ways = dict(self._ways(upload))
        done, pauses = Delivery(), dict.fromkeys(ways, 0.0)
        for plan, way in ways.items():
            attempts = plan.flush(way, until)
            pauses[plan] = attempts.pause
            trouble = done.trouble or attempts.trouble
            done = Delivery(attempts.delivered, dropped=attempts.dropped, trouble=trouble).after(done)
            if attempts.busy:  # all these reports go to the same server, which is left alone
                for other in ways.keys() - {plan}:
                    pauses[other] = other.pauses.hold(attempts.pause)
                break
        waiting = {plan: plan.waiting for plan in self._all()}
        pause = min((pauses[plan] for plan in ways if waiting.get(plan)), default=0.0)
        elsewhere = sum(number for plan, number in waiting.items() if plan not in ways)
        return replace(done, waiting=sum(waiting.values()), pause=pause, elsewhere=elsewhere)

    def _ways(self, upload: Upload) -> Iterator[tuple[PlanOutbox, Upload]]:
        """The plans whose reports this client can send, its own first, and how they are sent."""
        yield self._own, upload
        if not isinstance(upload, HttpUpload):
            return
        for plan in self._all():
            address = plan.address if plan is not self._own and plan.waiting else None
            way = upload.at(address) if address else None
            if way is not None:
                yield plan, way

    def _all(self) -> list[PlanOutbox]:
        found = sorted(names(self._folder))
        return [self._plan(name) for name in found if len(name) == _PLAN_DIGITS and _HEXADECIMAL.issuperset(name)]

    def _plan(self, name: str) -> PlanOutbox:
        return self._plans.setdefault(name, PlanOutbox(self._folder / name))
