"""The process that measures another library. It runs in that library's environment and imports nothing of localdp.

It reads one task (a JSON object) from each line of standard input and answers with one line: the seconds of each step.
Each protocol is used as its library documents it, with one call for each user. The step "decode" is work that is done
once, whatever the number of users.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Seconds = dict[str, float]
Values = list[int]
_prepared: dict[tuple[Any, ...], Any] = {}


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """The result of the action, and the seconds it took."""
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def pure_ldp(protocol: str, values: Values, size: int, epsilon: float) -> Seconds:
    """pure-ldp: a client privatises each value; a server aggregates report by report and estimates at the end."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer, LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def same(value: int) -> int:
        return value

    def fast_hashing() -> tuple[Any, Any]:
        given = {"use_olh": True, "index_mapper": same}
        return FastLHClient(epsilon, size, 500, **given), FastLHServer(epsilon, size, 500, **given)

    def hadamard() -> tuple[Any, Any]:
        server = HadamardResponseServer(epsilon, size, index_mapper=same)
        return HadamardResponseClient(epsilon, size, server.get_hash_funcs(), index_mapper=same), server

    made = {
        "grr": lambda: (DEClient(epsilon, size, same), DEServer(epsilon, size, same)),
        "oue": lambda: (UEClient(epsilon, size, True, same), UEServer(epsilon, size, True, same)),
        "olh": lambda: (
            LHClient(epsilon, size, use_olh=True, index_mapper=same),
            LHServer(epsilon, size, use_olh=True, index_mapper=same),
        ),
        "fast local hashing": fast_hashing,
        "hadamard response": hadamard,
    }
    key = (protocol, size, epsilon)
    if key not in _prepared:  # some protocols take many seconds to set up; this is not counted
        _prepared[key] = made[protocol]()
    client, server = _prepared[key]
    server.reset()
    reports, privatizing = timed(lambda: [client.privatise(value) for value in values])
    _, aggregating = timed(lambda: [server.aggregate(report) for report in reports])
    _, decoding = timed(lambda: server.estimate(0, suppress_warnings=True))
    return {"privatize": privatizing, "aggregate": aggregating, "decode": decoding}


def multi_freq_ldpy(protocol: str, values: Values, size: int, epsilon: float) -> Seconds:
    """multi-freq-ldpy: one function privatises one value, another estimates from the list of all reports."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    known: dict[str, tuple[Any, Any]] = {
        "grr": (GRR_Client, lambda reports: GRR_Aggregator_MI(reports, size, epsilon)),
        "oue": (UE_Client, lambda reports: UE_Aggregator_MI(reports, epsilon)),
        "olh": (LH_Client, lambda reports: LH_Aggregator_MI(reports, size, epsilon)),
        "ss": (SS_Client, lambda reports: SS_Aggregator_MI(reports, size, epsilon)),
    }
    client, aggregate = known[protocol]
    client(values[0], size, epsilon)  # the first call compiles, and is not counted
    reports, privatizing = timed(lambda: [client(value, size, epsilon) for value in values])
    _, aggregating = timed(lambda: aggregate(reports))
    return {"privatize": privatizing, "aggregate": aggregating, "decode": 0.0}


def main() -> None:
    """Answer tasks until standard input ends."""
    measure = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy}[sys.argv[1]]
    for line in sys.stdin:
        task = json.loads(line)
        values = np.random.default_rng(0).integers(0, task["size"], task["users"]).tolist()
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # noqa: PTH123
            # what the library prints must not end up among the answers
            seconds = measure(task["protocol"], values, task["size"], task["epsilon"])
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
