"""Draw what a collector learns by asking again and again: `python docs/generate_asking_again.py`.

Every device holds one of four items and is asked 20,000 times. The collector names the item that it was told most
often. The picture shows how many devices it names right, for devices with and without a permanent response.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import localdp as ldp
from localdp import plots
from localdp.client.permanent import permanent_response
from localdp.client.secret import Secret
from localdp.mechanisms import Mechanism
from localdp.randomness import keystream
from localdp.types import Indices, Rows

DEVICES, REPORTS, ITEMS = 500, 20_000, 4
EPSILON, ONCE = 1.0, 0.5
SHOWN = np.unique(np.geomspace(1, REPORTS, 60).astype(int))
PICTURE = Path(__file__).parent / "images" / "asking-again.png"


def main() -> None:
    """Draw the picture, and print what the collector finds in the end."""
    values = np.arange(DEVICES) % ITEMS
    stream = keystream.seeded(1)
    chain = ldp.Plan(ITEMS, "grr", EPSILON, once=ONCE)
    single = ldp.Plan(ITEMS, "grr", EPSILON)
    kept, kept_by_chain = permanent(single, values), permanent(chain, values)
    curves = {
        "without memory: every report is drawn anew from the item": (
            named_right(values, lambda: chain.mechanism.privatize(values, stream)),
            plots.VERMILLION,
        ),
        f"localdp, once = {ONCE:g}: reports perturb the permanent response": (
            named_right(values, lambda: chain.mechanism.again(kept_by_chain, stream)),
            plots.BLUE,
        ),
        "localdp, without once: every report is the permanent response": (
            named_right(values, lambda: kept),
            plots.GREEN,
        ),
    }
    figure = plots.figure(8, 5)
    axes = figure.subplots()
    for label, (shares, colour) in curves.items():
        axes.plot(SHOWN, 100 * shares, color=colour, label=label)
        print(f"{label}: {shares[-1]:.1%} of {DEVICES} devices after {REPORTS:,} reports")
    law = truth(chain.mechanism)
    axes.axhline(100 * law, color=plots.BLACK, linestyle=":", label=f"the permanent response is true: {law:.1%}")
    axes.axhline(100 / ITEMS, color="grey", linestyle="--", linewidth=1)
    axes.text(1, 100 / ITEMS + 1, "guessing", color="grey", fontsize="small")
    axes.set_xscale("log")
    axes.set_ylim(-6, 105)
    axes.set_xlabel("how often a device is asked")
    axes.set_ylabel("devices whose item is found (%)")
    axes.set_title(f"Asked again and again: {DEVICES} devices, {ITEMS} items, epsilon {EPSILON:g}")
    axes.legend(fontsize="small", loc="lower right")
    figure.savefig(PICTURE, dpi=100, metadata={"Software": None})


def permanent(plan: ldp.Plan, values: Indices) -> Rows:
    """The permanent response of each device, derived as a client derives it, from made-up secrets."""
    rows = []
    for device, index in enumerate(values.tolist()):
        secret = Secret(hashlib.sha256(b"picture %d" % device).digest(), plan.fingerprint)
        rows.append(permanent_response(plan.mechanism, (index,), secret.key(index.to_bytes(8, "little"))))
    return np.frombuffer(b"".join(rows), np.uint8).reshape(values.size, -1)


def named_right(values: Indices, ask: Callable[[], Rows]) -> np.ndarray:
    """The share of devices whose item is the one reported most often, after each number of reports shown."""
    votes = np.zeros((values.size, ITEMS), np.int64)
    devices, shares = np.arange(values.size), []
    for asked in range(1, REPORTS + 1):
        votes[devices, ask()[:, 0]] += 1
        if asked in SHOWN:
            most = votes == votes.max(axis=1, keepdims=True)
            shares.append((most[devices, values] / most.sum(axis=1)).mean())  # ties are settled by chance
    return np.array(shares)


def truth(mechanism: Mechanism) -> float:
    """The probability that a permanent response is the item of its device."""
    first: Mechanism = mechanism.first  # type: ignore[attr-defined]
    return first.p_star


if __name__ == "__main__":
    main()
