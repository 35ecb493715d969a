"""A device that is asked for its value, and answers within a budget."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, ClassVar, overload

from localdp.client.addresses import PLANS, STUDIES, Addresses, Routes
from localdp.client.budget import Budget
from localdp.client.diary import Diary, Pages
from localdp.client.one_answer import forget_all
from localdp.client.one_part import OnePart
from localdp.client.outbox import Delivery
from localdp.client.permanent import Permanent
from localdp.client.post import Post
from localdp.client.store import Store
from localdp.client.upload import Upload
from localdp.client.wording import Wording, checked_version
from localdp.errors import InvalidInputError, OptedOutError
from localdp.plan import Plan
from localdp.plan.limits import Limits
from localdp.studies import Single, Study, study_in
from localdp.validation import checked_amount

_TURN = 0.05  # seconds to wait while another process is sending


class Client:
    """One device: `report(value)` gives a batch of one report, as bytes, to be sent to the collector.

    `plan` is a `Plan` or a study such as a `Discovery`, or the JSON of either as it came from the collector. `store` is
    a folder for the secret of this device and for what it has spent; it is made if it is missing. Losing it makes a new
    device, which spends epsilon anew.

    Under a plan, a device that is asked again for the same value makes its report from the same permanent response.
    Without `once` in the plan the bytes are the same; with it, every report perturbs the permanent response once more.
    So a value spends the plan's epsilon once, however often it is asked for. Every other value spends it again, until
    the cap `most` is reached, which holds for everything that the store knows of. Then new values are a `BudgetError`.

    A study with several parts asks each device in one of them, by its `place`, and once: `report(value, document)` is
    None if the part in the document does not ask this device. The parts of a questionnaire are all known beforehand, so
    it needs no document: `report({"diet": "vegan", "age": 34})`. A device that has answered gives the same bytes again,
    also for another value.

    The device refuses what asks too much, with a `PlanLimitError`: a larger epsilon than `most_epsilon`, longer reports
    than `most_report_bytes`, more items than `most_items`, and with `needs_other` also plans without a catch-all item.

    `upload` is the address of the collector, or a function that takes a batch and an upload id of 16 bytes. With it,
    `send_once(value)` sends one report, however often it is called, and `send(value)` one more with every call. Both
    keep a report on the disk until it is delivered. With `most_every`, such as "year", the cap holds for each of these
    periods. `title` says what is asked, for `learnt`. At most `most_waiting` reports wait. `token` is
    sent with every upload, if the collector wants one. `segment` is a label of this device that the collection lists,
    such as the version of the app; it is sent in the clear, and nothing protects it.

    >>> import tempfile
    >>> plan = Plan(["tea", "coffee", "water"], epsilon=1.0)
    >>> client = Client(plan, store=tempfile.mkdtemp(), most=4.0)
    >>> client.report("tea") == client.report("tea")
    True
    >>> client.spent == plan.mechanism.epsilon, client.most
    (True, 4.0)
    """

    _routes: ClassVar[Routes] = STUDIES
    """Where collectors have studies with several parts."""

    def __init__(
        self,
        plan: Plan | Study | str | bytes,
        *,
        store: str | os.PathLike[str],
        most: float = 8.0,
        most_every: str | None = None,
        title: str = "",
        upload: str | Upload | None = None,
        token: str | None = None,
        segment: str | None = None,
        most_waiting: int = 1_000,
        most_epsilon: float = 4.0,
        most_report_bytes: int = 4_096,
        most_items: int = 100_000,
        needs_other: bool = False,
    ) -> None:
        limits = Limits(most_epsilon, most_report_bytes, most_items, needs_other)
        self.study = _accepted(plan, limits)
        waiting = checked_amount(most_waiting, 1_000_000, "most_waiting, the number of reports that may wait,")
        fingerprint, routes = self.study.fingerprint, PLANS if self.study.asks_again else self._routes
        addresses = Addresses(fingerprint, routes, upload, token, segment)
        self._store = Store(store)
        self._diary = Diary(self._store)
        self._budget = Budget(self._store, most, self._diary, most_every)
        self._out = self._diary.opted_out
        self._post = Post(self._store, fingerprint, addresses, waiting, lambda: self.opted_out)
        self._answers: Permanent | OnePart
        if self.study.asks_again:
            (part,) = self.study.parts()
            self._answers = Permanent(part, self._store, self._budget, self._post, self._diary, title)
        else:
            self._answers = OnePart(self.study, self._store, self._budget, self._post, limits, self._diary, title)

    @property
    def plan(self) -> Plan:
        """The plan of this device, if its study has one part only, which is open."""
        if not self.study.asks_again:
            raise InvalidInputError(f"a {self.study.what} has a plan in each of its parts: ask client.study")
        return self.study.parts()[0].plan

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the plan or of the study."""
        return self.study.fingerprint

    @property
    def epsilon(self) -> float:
        """What an answer spends."""
        return self.study.epsilon

    @property
    def place(self) -> int | None:
        """The place of this device: it answers the part whose span holds it. None if everybody is asked."""
        return self._answers.place

    @property
    def spent(self) -> float:
        """The epsilon that this device has spent, in this and in everything else that its store knows of."""
        return self._budget.spent

    @property
    def most(self) -> float:
        """The cap: what this device spends at most."""
        return self._budget.most

    @property
    def waiting(self) -> int:
        """The number of reports that wait to be sent, in everything that the store knows of."""
        return self._post.waiting

    @overload
    def report(self, value: Any) -> bytes: ...
    @overload
    def report(self, value: Any, document: str | bytes | None) -> bytes | None: ...
    def report(self, value: Any, document: str | bytes | None = None) -> bytes | None:
        """A batch of one report, in the wire format. What it spends is on the disk before this returns.

        A value is an item; or a list of items, under a plan with `set_size` and in a survey of sets; or whatever the
        study asks for. In a study with several parts, `document` is that of the part under way, and None is returned if
        it does not ask this device.

        A value that the device has no budget for is a `BudgetError`, a store that cannot be read or written a
        `StoreError`. Then nothing is released. A second document for the part that was answered is a
        `PlanMismatchError`.
        """
        if self._out:
            raise OptedOutError("the owner of this device has opted out: it reports nothing")
        return self._answers.report(value, document)

    def send(self, value: Any, document: str | bytes | None = None, *, wording: int | None = None) -> Delivery:
        """Make a report, keep it on the disk until it is delivered, and try to send what is waiting.

        Without a network the report waits for the next `send` or `flush`. So do others if sending takes more than 30
        seconds. An `OutboxFullError` says that too many reports are waiting already; then nothing is
        released, and nothing is spent unless another process took the last place at this moment.

        In a study with several parts, the document of the one under way is fetched from the collector unless it is
        given. A device that is not asked sends nothing; call this again when a later part is under way. Once it has
        answered, this only sends what still waits: the same bytes with the same upload id.

        `wording` is the version that the person was shown (see `wording`), which the collector counts apart from
        the answers. A function for uploads does not get it.
        """
        shown = None if wording is None else checked_version(wording)
        return self._unless_out(lambda: self._answers.send(value, document, shown))

    def send_once(
        self,
        value: Any,
        document: str | bytes | None = None,
        *,
        every: str | None = None,
        wording: int | None = None,
    ) -> Delivery:
        """Send one report of this device, or one `every` "day", "week", "month" or "year".

        Calling again, in this or another process and with this or another value, sends nothing more until the next
        period: the first value counts. When a device sends never depends on its value: one without a budget for a new
        value gives its last answer once more. In a study with several parts this is `send`.
        """
        shown = None if wording is None else checked_version(wording)
        return self._unless_out(lambda: self._answers.send_once(value, every, document, shown))

    def _unless_out(self, send: Callable[[], Delivery]) -> Delivery:
        """What `send` does, unless the owner of this device has opted out."""
        if self.opted_out:
            return Delivery(asked=False)
        done = send()
        if self._diary.opted_out:  # meanwhile, in another process, which could not remove what was made after that
            self.forget()
        return done

    def wording(self) -> Wording | None:
        """The question and the labels that people are to read now, from the collector; None if it does not say.

        Show them, and give their version to `send_once`.
        """
        return self._post.fetch_wording()

    def answered(self, every: str | None = None) -> bool:
        """Whether `send_once` has made its report, in this period if there are periods: it is delivered, or waits."""
        return self._answers.answered(every)

    def flush(self, wait: float = 0.0) -> Delivery:
        """Try to send what is waiting, unless a pause after a failure is not over yet.

        With `wait`, try again after every pause for up to this many seconds.
        """
        until = time.monotonic() + wait
        done = self._post.flush(self._answers.part)
        while done.waiting > done.elsewhere and time.monotonic() + done.pause < until:
            time.sleep(done.pause or _TURN)
            done = self._post.flush(self._answers.part).after(done)
        return done

    def forget(self) -> None:
        """Remove answers, and what waits to be sent, under every plan and in every study of the store.

        What was paid, and that there was an answer, stays: otherwise an app could let a device pay and answer again and
        again. The secret stays too, or the same value would be blurred anew.
        """
        self._answers.clear_cache()

        def forgotten(pages: Pages) -> bool:
            for answer in pages["answers"].values():
                for name in ("id", "body", "last"):  # with its upload id, the report could be found at the collector
                    answer.pop(name, None)
            return True

        self._diary.change(forgotten)
        with self._store.explained("written"), self._store.locked():
            forget_all(self._store)
            self._post.empty()

    def opt_out(self) -> None:
        """Report nothing from now on, under no plan of the store, and forget. `opt_in` takes it back."""
        self._choose(out=True)
        self.forget()

    def opt_in(self) -> None:
        """Take back `opt_out`."""
        self._choose(out=False)

    def _choose(self, *, out: bool) -> None:
        self._diary.change(lambda pages: pages.update(out=out) is None)
        self._out = out

    @property
    def opted_out(self) -> bool:
        """Whether the owner of this device has opted out. `report` looks when a client is made, `send` every time."""
        return self._diary.opted_out

    def learnt(self) -> dict[str, Any]:
        """What this device has told, for its owner: from its own record, so nobody is asked."""
        answers = [
            {"fingerprint": name, **{key: answer.get(key) for key in ("title", "epsilon", "at")}}
            for name, answer in self._diary.told().items()
        ]
        left, out = self._budget.left, self.opted_out
        return {"spent": self.spent, "left": left, "waiting": self.waiting, "opted_out": out, "answers": answers}

    def clear_cache(self) -> None:
        """Drop the permanent responses that are in memory. They are derived again when they are needed."""
        self._answers.clear_cache()

    def __repr__(self) -> str:
        of = repr(self.plan) if self.study.asks_again else f"{self.study.what} {self.fingerprint[:12]}"
        return f"<Client of {of}, spent {self.spent:.6g} of {self.most:g}>"


def _accepted(plan: Any, limits: Limits) -> Study:
    """The plan or the study, if it asks no more of this device than these limits."""
    if isinstance(plan, str | bytes):
        return study_in(plan, limits)
    study = Single(plan) if isinstance(plan, Plan) else plan
    if not isinstance(study, Study):
        raise InvalidInputError(f"a client needs a plan, or the JSON of one, not {type(plan).__name__}")
    study.check_limits(limits)
    return study
