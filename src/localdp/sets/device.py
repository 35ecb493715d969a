"""One device in a survey of sets: it knows which round it answers, and answers once.

The group of a device is drawn by the shares of the rounds from a keystream, whose key is the first 16 bytes of
HMAC-SHA-256(secret of the device, "localdp group/1", 0x00, the survey's fingerprint). So it is the same whenever it is
asked for, and never depends on what the user holds. The first report that a device makes is the only one
(`localdp.client.one_answer`).
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Collection
from hashlib import sha256
from typing import Any

from localdp.client.budget import Budget
from localdp.client.one_answer import OneAnswer
from localdp.client.secret import KEY_BYTES
from localdp.client.store import Store
from localdp.domain import Domain
from localdp.errors import LocalDPError, PlanError, PlanLimitError, PlanMismatchError
from localdp.formats import batch, canonical_json
from localdp.item_sets import ItemSets
from localdp.items import Item
from localdp.randomness.keystream import Keystream
from localdp.sets.groups import Groups
from localdp.sets.protocol import FORMAT
from localdp.sets.rounds import ROUNDS, SIZE, Round
from localdp.validation import LARGEST_SIZE, checked_amount, checked_epsilon


class SurveyClient:
    """One device: `group` is the round that it answers, and `report(items, document)` its report, for that round only.

    `survey` is the JSON of a survey (`Survey.to_json`), `store` the folder of the device, as for `ldp.Client`; `most`
    is its cap, over everything that it ever reports. The device refuses what asks too much with a `PlanLimitError`: a
    larger epsilon than `most_epsilon`, longer reports than `most_report_bytes`, more items than `most_items`, and with
    `needs_other` also surveys without a catch-all item.

    >>> import tempfile
    >>> from localdp.sets import Survey
    >>> survey = Survey(["tea", "milk", "bread"], epsilon=2.0, users=10_000)
    >>> client = SurveyClient(survey.to_json(), store=tempfile.mkdtemp())
    >>> answer = client.report(["tea", "milk"], survey.round.to_json())
    >>> (answer is None) == (client.group != survey.round.number)
    True
    """

    def __init__(
        self,
        survey: str | bytes,
        *,
        store: str | os.PathLike[str],
        most: float = 8.0,
        most_epsilon: float = 4.0,
        most_report_bytes: int = 4_096,
        most_items: int = 100_000,
        needs_other: bool = False,
    ) -> None:
        self.domain, self.epsilon, groups, self.fingerprint = _read(survey)
        if self.epsilon > checked_epsilon(most_epsilon):
            raise PlanLimitError(
                f"this survey asks for epsilon {self.epsilon:g}, and this device gives at most {most_epsilon:g}"
            )
        if self.domain.size > checked_amount(most_items, LARGEST_SIZE, "most_items"):
            raise PlanLimitError(
                f"this survey has {self.domain.size:,} items, and this device takes at most {most_items:,}"
            )
        if needs_other and self.domain.other is None:
            raise PlanLimitError("this survey has no catch-all item: who holds something else would have to be silent")
        self._longest = most_report_bytes
        opened = Store(store)
        self._budget = Budget(opened, most)
        self._answer = OneAnswer(opened, self._budget, self.fingerprint, self.epsilon, "survey", "surveys")
        key = hmac.new(opened.secret, b"localdp group/1\0" + bytes.fromhex(self.fingerprint), sha256).digest()
        self.group = int(groups.draw(1, Keystream(key[:KEY_BYTES]))[0])
        """The number of the round that this device answers."""

    @property
    def spent(self) -> float:
        """The epsilon that this device has spent, in this and in everything else that its store knows of."""
        return self._budget.spent

    def report(self, items: Collection[Item], document: str | bytes) -> bytes | None:
        """A batch of one report for the round in the document; None if this device answers another round.

        `items` is what the user holds, perhaps nothing. A device that has answered gives the same bytes again; another
        document for the same round is a `PlanMismatchError`. What this spends is on the disk before it returns; a
        `BudgetError` says that the cap is reached.
        """
        asked = Round.from_json(document, most_epsilon=self.epsilon, most_report_bytes=self._longest)
        if asked.survey != self.fingerprint or asked.items != self.domain.size:
            raise PlanMismatchError("this round belongs to another survey")
        held = ItemSets.read([items], self.domain)
        if asked.number != self.group:
            return None
        answer = asked.asked(held)
        reported = asked.classes.of(answer.sizes) if asked.asks == SIZE else answer.items

        def made(stream: Keystream) -> bytes:
            return batch.pack(asked.plan.fingerprint, asked.rows(held, stream))

        return self._answer.to(asked.fingerprint, reported.tolist(), made)

    def __repr__(self) -> str:
        return f"<SurveyClient of {self.fingerprint[:12]}, group {self.group}, spent {self.spent:.6g}>"


def _read(survey: Any) -> tuple[Domain, float, Groups, str]:
    """The items, the epsilon and the groups of a survey, and its fingerprint; `PlanError` if it is not one."""
    keys = {"format", "name", "domain", "epsilon", "users", "top", "largest", "shares"}
    domain = groups = None
    try:
        document = canonical_json.loads(survey)
        fingerprint = sha256(canonical_json.dumps(document).encode()).hexdigest()
        if set(document) == keys and document["format"] == FORMAT and len(document["shares"]) == ROUNDS:
            given = document["domain"]
            domain = Domain(given["items"] if "items" in given else given["size"], given.get("other"))
            groups = Groups(tuple(checked_amount(share, 1 << 16, "a share") for share in document["shares"]))
            epsilon = checked_epsilon(document["epsilon"])
    except (LocalDPError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        domain = None
    if domain is None or groups is None or domain.to_json() != document["domain"]:
        raise PlanError(f'this is not a survey of sets: it is not a document "{FORMAT}"')
    return domain, epsilon, groups, fingerprint
