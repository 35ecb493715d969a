"""A collector with something to look at: three weeks of simulated shoppers, and more of them while you watch.

The shares of the products are those of the 300 best-selling products in the Retail data. Some products become more or
less popular over the weeks, so that there is something to see in the history. Every simulated shopper is private: what
is stored are noisy counts, and what is sent from then on are reports, over HTTP, as real devices send them.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import suppress

import numpy as np

from localdp import datasets
from localdp.client.addresses import by_http
from localdp.collector.collections import Collection, day_of
from localdp.collector.service import Service
from localdp.collector.storage import aggregates, uploads
from localdp.collector.storage.database import Session
from localdp.collector.terms import Terms
from localdp.plan import Plan
from localdp.types import Vector

PRODUCTS = 300
EPSILON = 2.0
PAST_DAYS = 21
USERS_A_DAY = 9_000
TERMS = Terms(
    title="Supermarket demo",
    question="Which product did you buy last? (Simulated shoppers, with the shares of the Retail data.)",
    minimum=500,
)
_TRENDS = {2: 0.9, 3: -0.6, 4: 0.5}
"""How much the popularity of some products changes over the three weeks, by the index of the product."""
_PAUSE, _AT_ONCE = 3.0, 240  # seconds between two uploads of today's shoppers, and how many each brings


def demo_plan() -> Plan:
    """The plan of the demonstration; product 1 is the one that sold best."""
    return Plan([f"product {rank}" for rank in range(1, PRODUCTS + 1)], epsilon=EPSILON)


def popularity(progress: float) -> Vector:
    """The true share of each product, from the first day (0) to today (1)."""
    weights = datasets.load("retail").frequencies[:PRODUCTS].astype(np.float64)
    for place, change in _TRENDS.items():
        weights[place] *= 1 + change * progress
    shares: Vector = weights / weights.sum()
    return shares


class Demo:
    """The simulated shoppers of one collector: `fill` stores those of the past, `start` begins to send new ones."""

    def __init__(self, service: Service, address: str) -> None:
        self._service, self._address = service, address
        self._random = np.random.default_rng()

    def fill(self) -> Collection:
        """Create the plan and store the past days, unless that was done before. The service is not running yet."""
        plan, now = demo_plan(), int(time.time())
        with self._service.database.writing() as session:
            made = self._service.collections.add(session, plan, TERMS, now)
            if made is not None:
                for ago in range(PAST_DAYS, 0, -1):
                    self._fill_day(session, made, day_of(now) - ago, 1 - ago / PAST_DAYS)
        found = self._service.collections.find(plan.fingerprint)
        assert found is not None  # noqa: S101 (it was added above)
        return found

    def start(self) -> None:
        """Send reports until the process ends."""
        threading.Thread(target=self._run, name="localdp-demo", daemon=True).start()

    def _fill_day(self, session: Session, collection: Collection, day: int, progress: float) -> None:
        weekend = (day + 3) % 7 >= 5  # 1 January 1970 was a Thursday
        expected = USERS_A_DAY * (1.5 if weekend else 1.0) * self._random.uniform(0.85, 1.15)
        held = self._random.multinomial(round(expected), popularity(progress))
        counted = collection.plan.simulate(held)
        key = uploads.key_of(collection.fingerprint_bytes, secrets.token_bytes(16))
        uploads.import_aggregate(session, key, collection.where, day, counted.n, counted.to_bytes())
        aggregates.add(session, collection.where, day, counted.n, counted.counts)

    def _run(self) -> None:
        plan, shares = demo_plan(), popularity(1.0)
        send = by_http(self._address, plan.fingerprint, None)
        while True:
            time.sleep(_PAUSE)
            shoppers = int(self._random.integers(_AT_ONCE // 2, _AT_ONCE * 2))
            held = self._random.choice(PRODUCTS, shoppers, p=shares)
            values = [plan.domain.items[place] for place in held.tolist()]
            with suppress(OSError):  # the server is not there yet, or no longer
                send(plan.privatize(values).to_bytes(), secrets.token_bytes(16))
