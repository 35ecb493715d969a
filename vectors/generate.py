"""Write the golden vectors, which pin the formats for every language.

If this program changes a committed vector, the format has changed and needs a new version. From the first release on,
that also holds for how random bytes become a report.

    vectors/v1/NAME.json      for each mechanism: plan, value and random bytes -> report; malformed batch -> error code.
                              For each chain also: random bytes -> permanent response -> several reports
    vectors/v1/hash.json      the hash of `olh` and `blh`
    vectors/v1/field.json     the field and the hash of `llh`
    vectors/v1/scale.json     scales, with plans by any mechanism: values -> the index that is reported
    vectors/v1/sets.json      plans whose users hold sets: plan, set and random bytes -> report; malformed batch -> code
    vectors/v1/domain.json    plans with a catch-all: values -> the index that is reported
    vectors/v1/plans.json     plan -> fingerprint and realised epsilon; malformed plan or one past a limit -> code
    vectors/v1/devices.json   key -> words of the keystream; secret, plan and index -> key, digest, permanent response;
                              the same for the sets that users hold
    vectors/v1/questionnaires.json   form -> its parts; secret and answers -> place, part, cells, key and batch
    vectors/v1/studies.json   record of a device, study, part and value -> place, report, upload id, record afterwards;
                              altered study or part -> code
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from device_vectors import device_vectors, wave_vectors
from discovery_vectors import discovery_vectors
from numpy.typing import NDArray
from plan_vectors import bad_plans, good_plans
from questionnaire_vectors import questionnaire_vectors
from replay import Replay
from set_vectors import set_vectors, spoiled_plans
from study_vectors import study_vectors

from localdp.errors import WireError
from localdp.kernels import linear_hash, local_hash, rare_bits
from localdp.kernels.galois_field import irreducible
from localdp.mechanisms import CHAINS, MECHANISMS, ORDERED_MECHANISMS
from localdp.mechanisms.unary import UnaryEncoding
from localdp.plan.plan import Plan, Reports
from localdp.questions import Scale
from localdp.randomness.keystream import seeded

FOLDER = Path(__file__).parent / "v1"
CASES: dict[str, list[tuple[Any, ...]]] = {
    "grr": [(["tea", "coffee", "wäter"], 1.0), (1000, 4.0)],
    "sue": [(5, 1.0), (100, 2.5), (300, 7.5)],
    "oue": [(["tea", "coffee", "wäter"], 1.0), (200, 4.0), (64, 0.000001), (1000, 8.0)],
    "ss": [(11, 1.0), (40, 0.5)],
    "olh": [(1000, 1.0), (41_270, 4.0)],
    "blh": [(1000, 1.0)],
    "llh": [(2, 1.0), (1000, 1.0), (41_270, 4.0)],
    "slh": [(3, 0.5), (1000, 0.5), (41_270, 2.5)],
    "hr": [(5, 0.5), (1000, 0.69)],
    "dbit": [
        (["tea", "coffee", "wäter"], 1.0, {"answers": 1}),
        (40, 2.0, {"answers": 4}),
        (1000, 4.0, {"answers": 8}),
        (5, 1.0, {"answers": 5}),
    ],
    "cms": [(3, 1.0), (1000, 4.0), (41_270, 2.0)],
    "hcms": [(3, 1.0), (1000, 4.0), (41_270, 2.0)],
    "grr+grr": [(["tea", "coffee", "wäter"], 2.0, {"once": 0.5}), (1000, 4.0, {"once": 2})],
    "sue+sue": [(5, 2.0, {"once": 1}), (300, 8.0, {"once": 7.5})],
    "oue+oue": [(5, 2.0, {"once": 1}), (300, 8.0, {"once": 6})],
    "oue+sue": [(["tea", "coffee", "wäter"], 2.0, {"once": 0.5}), (100, 4.0, {"once": 1}), (300, 8.0, {"once": 6})],
    "sue+oue": [(5, 2.0, {"once": 1}), (300, 8.0, {"once": 4.5})],
    "wave": [
        (Scale(1, 5), 0.5),
        (Scale(0, 100), 1.0),
        (Scale(0, 120, 5, other="no answer"), 1.0),
        (Scale(0, 1023), 4.0),
        (Scale(0, 5, 0.05, other="nöthing"), 1e-6),
        (Scale(0, 20), 16.0),
    ],
}
"""For each mechanism, domains, epsilons and options: short and long reports, few and many bits set."""


def vectors(name: str) -> dict[str, Any]:
    """The vectors of one mechanism: reports to reproduce, and malformed batches to refuse."""
    good, bad = [], []
    for case, (domain, epsilon, *options) in enumerate(CASES[name]):
        plan = Plan(domain, name, epsilon, **(options[0] if options else {}))
        for turn, index in enumerate((0, 1, plan.domain.size - 1)):
            good.append(_good(plan, index, _randomness(plan, seed=100 * case + turn, reject=turn == 1)))
        if isinstance(plan.mechanism, UnaryEncoding) and rare_bits.jumping_pays(plan.mechanism.noise, 64):
            good += [_good(plan, index, words.tobytes()) for index, words in enumerate(_telling_jumps(plan.mechanism))]
        bad += _bad(plan)
    return {"mechanism": name, "good": good, "bad": bad}


def _randomness(plan: Plan, seed: int, reject: bool) -> bytes:
    """Seeded random bytes, more than one report uses. With `reject`, every third word has all bits set."""
    words = seeded(seed).words(4 * plan.domain.size + 64)
    if reject:
        words[:] = np.where(np.arange(words.size) % 3 == 0, ~np.uint64(0), words)  # forces rejected and tied draws
    return words.tobytes()


def _telling_jumps(mechanism: UnaryEncoding) -> Iterator[NDArray[np.uint64]]:
    """Random words that lie exactly at the edges where an imprecise implementation jumps to another bit.

    The first word decides the held item's bit; the others are jumps from one set bit to the next.
    """
    law = rare_bits.jump_law(mechanism.noise, 64)
    size = mechanism.size

    def words(edge: int, count: int, more: int = 0) -> list[int]:
        """The first `count` words of an edge, with `more` added to the last: just above or just below the edge."""
        digits = [
            int(law.edges[edge - 1]) >> 64 * (rare_bits.REACH - place) & 2**64 - 1 for place in range(1, count + 1)
        ]
        return [*digits[:-1], digits[-1] + more]

    def landing(answer: int) -> list[int]:
        """The words of a jump over this many bits."""
        return words(answer, 1, +1) if answer else [0]

    def up_to(remaining: int) -> list[int]:
        """The words of jumps after which `remaining` bits are left."""
        steps, rest = divmod(size - remaining, 200)
        return landing(199) * steps + (landing(rest - 1) if rest else [])

    cases = [
        [*words(5, 2, +1), *words(7, 2, -1)],  # ties with an edge, decided by the second word, above and below
        [
            *words(6, 3, +1),
            *words(4, 3, -1),
            *words(1, 1),
        ],  # ties in two words of one jump; and a tie with an edge of one word
        [
            *landing(253),
            *words(254, 2, -1),
            *words(254, 2, +1),
            *landing(254),
        ],  # the longest jumps in the table, and beyond it
        [*up_to(20), *landing(19)],  # a jump onto the last bit
        [*up_to(20), *landing(20)],  # a jump past the last bit
        [*up_to(20), *words(20, 2, -1)],  # a tie with the last edge that matters here
        [*up_to(20), *words(21, 1)],  # a tie with the first edge that does not
    ]
    for seed, case in enumerate(cases):
        coin = seed % 2 * (2**64 - 1)
        yield np.append(np.array([coin, *case], np.uint64), seeded(seed).words(2 * size))


def _good(plan: Plan, index: int, randomness: bytes) -> dict[str, Any]:
    """The report of one value, with the random bytes that it used."""
    source = Replay(randomness)
    reports = Reports(plan, plan.mechanism.randomize(np.array([index]), source))
    found: dict[str, Any] = {
        "plan": plan.to_json(),
        "fingerprint": plan.fingerprint,
        "value": plan.domain.items[index],
        "random": randomness[: source.used].hex(),
        "report": base64.b64encode(reports.rows.tobytes()).decode(),
        "batch": base64.b64encode(reports.to_bytes()).decode(),
    }
    if plan.mechanism.perturbs_again:
        found |= _asked_again(plan, index, randomness)
    return found


def _asked_again(plan: Plan, index: int, randomness: bytes) -> dict[str, Any]:
    """The permanent response that the first of the random bytes make, and three reports from it.

    The first report is the one above, which is made of all the random bytes.
    """
    source = Replay(randomness)
    permanent = plan.mechanism.randomize_permanent(np.array([index]), source)
    first = source.used
    reports = []
    for more in (randomness[first:], *(_randomness(plan, seed=7000 + turn, reject=turn == 1) for turn in (0, 1))):
        source = Replay(more)
        rows = plan.mechanism.randomize_again(permanent, source)
        reports.append({"random": more[: source.used].hex(), "report": base64.b64encode(rows.tobytes()).decode()})
    response = {"random": randomness[:first].hex(), "response": base64.b64encode(permanent.tobytes()).decode()}
    return {"permanent": response, "again": reports}


def _bad(plan: Plan) -> list[dict[str, Any]]:
    """Batches of two reports, each spoiled in one way, and the error code that `Plan.read` gives.

    The codes are not derived anywhere else: whoever changes them reads the diff.
    """
    item = plan.domain.items[0]
    reports = plan.privatize([[item] if plan.mechanism.holds_sets else item] * 2, seed=1)
    data = reports.to_bytes()
    length = plan.mechanism.report_bytes
    spoiled = {
        "empty": b"",
        "another magic": b"LDP2" + data[4:],
        "cut inside the magic": data[:3],
        "cut inside the header": data[:21],
        "another plan": data[:4] + bytes(16) + data[20:],
        "no reports": data[:20] + bytes(4),
        "one byte short": data[:-1],
        "one report short": data[:-length],
        "one byte more": data + b"\0",
        "count too large": data[:20] + b"\xff\xff\xff\xff" + data[24:],
        "all bits set": data[:24] + b"\xff" * (2 * length),
        "all bits of the report set": data[:24] + 2 * _ones(plan.mechanism.report_bits),
        "no bits set": data[:24] + bytes(2 * length),
    }
    encoded = json.loads(reports.to_json())
    twins = {
        "not JSON": "{",
        "a key more": json.dumps({**encoded, "extra": 1}),
        "another plan in JSON": json.dumps({**encoded, "plan": "00" * 32}),
        "no reports in JSON": json.dumps({**encoded, "reports": []}),
        "not base64": json.dumps({**encoded, "reports": ["***"]}),
        "not a string": json.dumps({**encoded, "reports": [7]}),
        "a report too long": json.dumps({**encoded, "reports": [base64.b64encode(bytes(length + 1)).decode()]}),
    }
    found = []
    for what, batch in spoiled.items():
        if (code := _code(plan, batch)) is not None:
            encoded_batch = base64.b64encode(batch).decode()
            found.append({"what": what, "plan": plan.to_json(), "batch": encoded_batch, "code": code})
    for what, text in twins.items():
        found.append({"what": what, "plan": plan.to_json(), "json": text, "code": _code(plan, text)})
    return found


def _ones(bits: int) -> bytes:
    """This many bits, all set, as bytes."""
    return ((1 << bits) - 1).to_bytes(-(-bits // 8), "little")


def _code(plan: Plan, batch: bytes | str) -> str | None:
    """The error code of the batch, or None if it happens to be well-formed."""
    try:
        plan.read(batch)
    except WireError as error:
        return error.code.value
    return None


def hash_vectors() -> list[dict[str, int]]:
    """The hashes of a few items under a few seeds, for `olh` and `blh`."""
    cases = []
    for seed in (0, 1, 0xDEADBEEF, 2**32 - 1):
        for item in (0, 1, 41_269, 2**32 - 2):
            for symbols in (2, 4, 56):
                mixed = local_hash.mixed_items(np.array([item], np.uint32))
                symbol = int(local_hash.local_hash(np.array([seed], np.uint32), mixed, symbols)[0])
                cases.append({"seed": seed, "item": item, "symbols": symbols, "symbol": symbol})
    return cases


def field_vectors() -> dict[str, Any]:
    """The irreducible polynomial of every degree, and a few hashes, for `llh`."""
    cases = []
    for degree, bits in ((1, 1), (4, 2), (10, 3), (16, 6), (20, 20), (32, 5)):
        for multiplier, item in ((1, 1), ((1 << degree) - 1, (1 << degree) - 1), (0x9E3779B9 % (1 << degree) or 1, 5)):
            item %= 1 << degree
            pair = (np.array([value], np.uint64) for value in (multiplier, item))
            symbol = int(linear_hash.linear_hash(*pair, degree, bits)[0])
            cases.append({"degree": degree, "bits": bits, "multiplier": multiplier, "item": item, "symbol": symbol})
    return {"polynomials": {str(degree): irreducible(degree) for degree in range(1, 33)}, "hashes": cases}


def domain_vectors() -> list[dict[str, Any]]:
    """Plans with a catch-all item, and the indices of values that are listed and of values that are not."""
    cases: list[tuple[Any, Any, list[Any]]] = [
        (["tea", "coffee"], "something else", ["tea", "coffee", "something else", "cocoa", "", None, 1]),
        (["rest", "tea", "wäter"], "rest", ["wäter", "rest", "WÄTER", "tea "]),
        (10, 9, [0, 9, 10, -1, 4294967296]),
        ([1, 2.5, "yes"], "other", [1, 2.5, "yes", 2, "1", False]),
    ]
    scales: list[tuple[Scale, list[Any]]] = [
        (Scale(1, 5), [1, 5, 0, 99, 2.99, "3", " +4e0\n", -7.5]),
        (Scale(0, 1.5, step=0.25, other="none"), [0, 0.25, 0.2499999, 1.5, 9, None, "many", True, "1e-3", "0x1", ""]),
        (Scale(-1000, 1000, step=0.1, other="-"), [-1000.05, -999.95, 0.3, 0.30000000000000004, 0.1, 999.9, "1_0"]),
    ]
    plans = [(Plan(items, "grr", 1.0, other=other), values) for items, other, values in cases]
    plans += [(Plan(scale, "grr", 1.0), values) for scale, values in scales]
    made = []
    for plan, values in plans:
        document = json.loads(plan.to_json())
        indices = plan.question.read(values).items.tolist()
        made.append({"plan": document, "fingerprint": plan.fingerprint, "values": values, "indices": indices})
    return made


def scale_vectors() -> list[dict[str, Any]]:
    """Scales, and the indices of numbers inside, at the edges of cells and beyond, and of what is no number."""
    strange = [None, "", "tea", "1_000", "nan", "Infinity", "0x10", True, [3], " 4.5 ", "+2e0", ".5", "7.", "-1E1"]
    scales = [
        (Scale(1, 5), "grr", [1, 2, 5, 6, 0, -7, 2.9, 4.999, 1e300]),
        (Scale(1, 5, other="no answer"), "auto", [3, *strange]),
        (Scale(0, 120, 5, other="none"), "wave", [0, 4.999, 5, 9, 115, 119.9, 120, 121, -0.5, *strange]),
        (Scale(0, 1, 0.1), "auto", [0, 0.1, 0.2, 0.3, 0.29999999999999993, 0.6, 0.7, 0.9, 1, 1.1]),
        (Scale(-0.3, 0.9, 0.3), "llh", [-0.3, 0, 1e-300, -1e-300, 0.3, 0.6, 0.9]),
        (Scale(0.5, 3.5), "oue", [0.5, 1.4, 1.5, 2.5, 3.5]),
        (Scale(-1000000, 1000000, 12500), "wave", [-1000000, -987500, -987500.0001, 0, 999999]),
    ]
    made = []
    for scale, mechanism, values in scales:
        plan = Plan(scale, mechanism, 1.0)
        found = {"plan": plan.to_json(), "fingerprint": plan.fingerprint, "items": list(plan.domain.items)}
        made.append({**found, "values": values, "indices": scale.read(values).items.tolist()})
    return made


def main() -> None:
    """Write all files."""
    for folder in (FOLDER, FOLDER.parent / "studies"):
        folder.mkdir(exist_ok=True)
    contents: dict[str, Any] = {name: vectors(name) for name in (*MECHANISMS, *CHAINS, *ORDERED_MECHANISMS)}
    contents["wave"]["responses"] = wave_vectors()
    contents["scale"] = scale_vectors()
    contents |= {"hash": hash_vectors(), "field": field_vectors(), "domain": domain_vectors(), "sets": set_vectors()}
    contents["sets"]["bad"] = [bad for plan in spoiled_plans() for bad in _bad(plan)]
    contents["plans"] = {"good": list(good_plans()), "bad": list(bad_plans())}
    contents["devices"] = device_vectors()
    contents["questionnaires"] = questionnaire_vectors()
    contents["studies"] = study_vectors()
    contents["../studies/discoveries"] = discovery_vectors()
    for name, content in contents.items():
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
