"""Vectors of plans: what a device derives from a good one, and the code of the error for a bad one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from localdp.errors import EpsilonError, ImpureMechanismError, InvalidInputError, PlanError
from localdp.mechanisms import CHAINS, MECHANISMS, SET_MECHANISMS
from localdp.plan.part_key import PartKey
from localdp.plan.plan import Plan
from localdp.questions import Scale

EPSILONS = (1e-6, 0.1, 0.6931471805599453, 1.0, 3.3333333333333335, 16.0)
SIZES = (3, 16_470)
SET_SIZES = ((3, 1), (3, 7), (1_000, 4), (200, 256), (16_470, 65_536))
DOMAINS: list[tuple[Any, Any]] = [
    (["tea", "coffee", "wäter", "\U0001f375", "\uff5e", "", 'a\n"b\\\u007f\u2028'], None),
    ([1, 2.5, "1", -0.0, 1e-7, 1e15, -7.25e-5, "true"], 2.5),
    ([True, False, 2], False),
    (7, 3),
    (["no", "yes"], "other"),
]


def good_plans() -> Iterator[dict[str, Any]]:
    """Plans of every mechanism on several sizes and epsilons, and with unusual items, with their realised epsilons."""
    for (name, kind), size, epsilon in itertools.product((MECHANISMS | CHAINS).items(), SIZES, EPSILONS):
        for once in (0.25, 0.9) if kind.perturbs_again else (None,):
            options = {} if once is None else {"once": once * epsilon}
            try:
                yield _good(Plan(size, name, epsilon, **options))
            except (EpsilonError, ImpureMechanismError):
                continue  # this mechanism is not offered there
    for name, (size, set_size), epsilon in itertools.product(MECHANISMS | SET_MECHANISMS, SET_SIZES, (1e-6, 1.0, 16.0)):
        try:
            yield _good(Plan(size, name, 0.5 if name == "hr" else epsilon, set_size=set_size))
        except (EpsilonError, ImpureMechanismError, InvalidInputError):
            continue  # dbit takes no sets, and this epsilon may be too small
    for domain, other in DOMAINS:
        yield _good(Plan(domain, "grr", 1.0, other=other))
    for answers in (1, 2, 50, 100):
        yield _good(Plan(100, "dbit", 1.5, answers=answers))
    yield _good(Plan(Scale(1, 5), "grr", 1.0))
    yield _good(Plan(Scale(-2.5, 100, step=0.125, other="?"), "llh", 1.0))
    for name in ("smokes", "\U0001f375" * 200):
        part = PartKey("0123456789abcdef" * 4, name)
        yield _good(Plan(["yes", "no"], "grr", 1.0, other="no answer", part=part))
        yield _good(Plan(9, "ss", 1.0, set_size=3, part=part))


def _good(plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan.to_json(),
        "fingerprint": plan.fingerprint,
        "epsilon": plan.mechanism.epsilon,
        "epsilon_once": plan.mechanism.epsilon_once,
    }


def bad_plans() -> Iterator[dict[str, Any]]:
    """Texts that are not plans, plans that were altered, and plans that ask for more than the limits of a device."""
    for what, text in itertools.chain(_not_plans(), _altered(), _scales()):
        yield _bad(what, text, {})
    for what, plan, limits in _too_much():
        yield _bad(what, plan.to_json(), limits)


def _scales() -> Iterator[tuple[str, str]]:
    """A scale that was altered."""
    known = json.loads(Plan(Scale(0, 10, step=2.5), "grr", 1.0).to_json())
    for what, changed in {
        "a scale without a step": {"step": 0},
        "a scale that does not come out even": {"high": 11},
        "a scale with too many digits": {"low": 0.1234567},
        "a scale with more cells than its plan": {"high": 20},
        "a scale whose catch-all is a cell": {"other": "0 to 2.5"},
        "a scale whose catch-all is a number": {"other": 7},
        "a scale with another key": {"unit": "minutes"},
        "a question that nobody knows": {"name": "unknown"},
        "a scale with a text as its end": {"low": "0"},
    }.items():
        yield what, json.dumps({**known, "question": {**known["question"], **changed}})
    yield "a scale beside a list of items", json.dumps({**known, "domain": {"size": 4}})


def _bad(what: str, text: str, limits: dict[str, Any]) -> dict[str, Any]:
    """The code of the error. It is not derived anywhere else: whoever changes it reads the diff."""
    try:
        Plan.from_json(text, **limits)
    except PlanError as error:
        return {"what": what, "plan": text, "limits": limits, "code": error.code}
    raise AssertionError(f"not refused: {what}")


def _not_plans() -> Iterator[tuple[str, str]]:
    text = Plan(["tea", "coffee"], "grr", 1.0).to_json()
    yield from {
        "nothing": "",
        "a number": "7",
        "null": "null",
        "a list": f"[{text}]",
        "cut": text[:-1],
        "followed by more": text + "x",
        "a byte order mark": "\ufeff" + text,
        "single quotes": text.replace('"', "'"),
        "NaN": text.replace('"epsilon":1', '"epsilon":NaN'),
        "an epsilon without end": text.replace('"epsilon":1', '"epsilon":1e999'),
        "a key twice": text.replace("{", '{"epsilon":1,', 1),
        "a key twice, escaped": text.replace("{", '{"\\u0065psilon":1,', 1),
        "an item key twice": text.replace('{"items"', '{"items":["tea","coffee"],"items"'),
        "half a character": text.replace("tea", "\\ud800"),
        "half a character in a key": text.replace("{", '{"\\udc00":1,', 1),
    }.items()


def _altered() -> Iterator[tuple[str, str]]:
    """Plans in which one thing differs from what `Plan` writes."""
    plans = {
        "grr": Plan(["tea", "coffee"], "grr", 1.0),
        "sized": Plan(9, "oue", 1.0, other=3),
        "dbit": Plan(9, "dbit", 1.0, answers=2),
        "chain": Plan(9, "oue+sue", 2.0, once=1.0),
        "grr+grr": Plan(9, "grr+grr", 2.0, once=1.0),
        "sets": Plan(["tea", "coffee", "milk"], "grr", 1.0, set_size=2),
        "sized sets": Plan(9, "ss", 1.0, set_size=3, other=8),
        "whole sets": Plan(9, "privset", 1.0, set_size=3),
    }
    study = "0123456789abcdef" * 4
    plans["part"] = Plan(["tea", "coffee"], "grr", 1.0, part=PartKey(study, "smokes"))
    hashed = Plan(9, "olh", 1.0, set_size=3)  # its parameters depend neither on the size nor on the set size
    changes: dict[str, list[dict[str, Any]]] = {
        "grr": [
            {"format": "localdp-plan/2"}, {"format": None}, {"width": 32}, {"width": "64"}, {"extra": 1},
            {"epsilon": 0}, {"epsilon": -1}, {"epsilon": 17}, {"epsilon": "1"}, {"epsilon": True}, {"epsilon": None},
            {"epsilon": 1e-30}, {"epsilon": 1.0000000000000002}, {"epsilon": [1]},
            {"mechanism": "auto"}, {"mechanism": "rappor"}, {"mechanism": "sets"}, {"mechanism": 7},
            {"mechanism": None}, {"mechanism": "toString"}, {"mechanism": "sue"}, {"mechanism": "grr+grr"},
            {"mechanism": "GRR"},
            {"once": 0.5}, {"once": None}, {"answers": 2}, {"answers": None},
            {"domain": None}, {"domain": 3}, {"domain": ["tea", "coffee"]}, {"domain": {}},
            {"domain": {"items": []}}, {"domain": {"items": ["tea"]}}, {"domain": {"items": ["tea", "tea"]}},
            {"domain": {"items": "tea"}}, {"domain": {"items": ["tea", None]}}, {"domain": {"items": ["tea", ["a"]]}},
            {"domain": {"items": ["tea", {"a": 1}]}}, {"domain": {"items": [1, True]}},
            {"domain": {"items": [1, 2**53]}}, {"domain": {"items": [1, -(2**53)]}}, {"domain": {"items": [1, 1e300]}},
            {"domain": {"items": ["tea", "coffee"], "size": 2}}, {"domain": {"items": ["tea", "coffee"], "more": 1}},
            {"domain": {"items": ["tea", "coffee"], "other": "cocoa"}},
            {"domain": {"items": ["tea", "coffee"], "other": None}},
            {"domain": {"items": [1, 2], "other": True}}, {"domain": {"items": ["tea", "coffee"], "other": ["tea"]}},
            {"parameters": {}}, {"parameters": None}, {"parameters": []},
        ],
        "sized": [
            {"domain": {"size": size}} for size in (0, 1, -2, 2.5, "9", True, None, 2**32 + 1, 2**60, [9])
        ]
        + [{"domain": {"size": 9, "other": other}} for other in (9, -1, 3.5, "3", True, None)],
        "dbit": [{"answers": answers} for answers in (0, 1, 10, -1, 2.5, "2", True, None)],
        "chain": [{"once": once} for once in (0, 2, 3, 17, -1, "1", True, None, 1e-30, 1.9999999999999998)],
        "grr+grr": [{"once": once} for once in (2, 1.9999999999999998, 1e-25)],
        "sets": [{"set_size": size} for size in (0, 1, 3, -2, 2.5, "2", True, None, 65_537, 2**60, [2], {})]
        + [{"mechanism": name} for name in ("dbit", "grr+grr", "oue+sue", "oue", "auto", None)]
        + [{"once": 0.5}, {"answers": 1}, {"epsilon": 1e-30}, {"setSize": 2}],
        "sized sets": [{"domain": {"size": size}} for size in (2**32, 2**32 - 1)],
        "part": [{"part": part} for part in (None, 7, "smokes", [], {}, [study, "smokes"])]
        + [{"part": {"study": other, "name": "smokes"}} for other in (None, 7, study[1:], study.upper(), study + "0")]
        + [{"part": {"study": study, "name": name}} for name in (None, 7, "", "x" * 201, ["smokes"])]
        + [{"part": {"study": study}}, {"part": {"study": study, "name": "smokes", "more": 1}}],
        "whole sets": [{"set_size": size} for size in (0, 2, 4, 257, 65_536, "3", None)] + [{"epsilon": 1e-30}],
    }  # fmt: skip
    for name, several in changes.items():
        document = json.loads(plans[name].to_json())
        for change in several:
            yield f"{name} with {json.dumps(change)}", json.dumps(document | change)
    for change in ({"domain": {"size": 2**32}}, {"set_size": 0}, {"set_size": 65_537}):
        yield f"hashed sets with {json.dumps(change)}", json.dumps(json.loads(hashed.to_json()) | change)
    for name, plan in plans.items():
        document = json.loads(plan.to_json())
        for key in sorted(document.keys() - {"part"}):  # without its key, a plan is another plan
            yield f"{name} without {key}", json.dumps({k: v for k, v in document.items() if k != key})
    for plan in (*plans.values(), *(Plan(50, name, 0.5) for name in MECHANISMS)):
        yield from _other_parameters(json.loads(plan.to_json()))
    for written in ("2.0", "2e0", "20e-1"):
        yield f"a set size of {written}", plans["sets"].to_json().replace('"set_size":2', f'"set_size":{written}')
    yield "a set size of 3.0", plans["sized sets"].to_json().replace('"set_size":3', '"set_size":3.0')
    key = plans["part"].to_json()
    yield "a study twice", key.replace('"study"', f'"study":"{study}","study"')
    yield "half a character in a part", key.replace("smokes", "\\ud83c")
    yield "a set size twice", plans["sets"].to_json().replace('"set_size":2', '"set_size":2,"set_size":2')
    yield "a size of 9.0", plans["dbit"].to_json().replace('"size":9', '"size":9.0')
    yield "a size of 9e0", plans["dbit"].to_json().replace('"size":9', '"size":9e0')
    yield "answers of 2.0", plans["dbit"].to_json().replace('"answers":2', '"answers":2.0')
    yield "another of 3.0", plans["sized"].to_json().replace('"other":3', '"other":3.0')


def _other_parameters(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The plan with each of its parameters one larger, one smaller, of another type, and missing."""
    parameters = document["parameters"]
    for name, value in parameters.items():
        others: list[Any] = [None]
        if isinstance(value, str) and value.isdigit():
            others += [str(int(value) + 1), str(int(value) - 1), "0" + value, int(value) & 0xFFFFFFFF]
        elif isinstance(value, int):
            others += [value + 1, value - 1, str(value)]
        for other in others:
            changed = document | {"parameters": parameters | {name: other}}
            yield f"{document['mechanism']} with {name} {json.dumps(other)}", json.dumps(changed)
        missing = {key: kept for key, kept in parameters.items() if key != name}
        yield f"{document['mechanism']} without {name}", json.dumps(document | {"parameters": missing})


def _too_much() -> Iterator[tuple[str, Plan, dict[str, Any]]]:
    """Plans that are past a limit, with that limit. Just within it, they are accepted."""
    items = [f"item {number}" for number in range(20)]
    for what, plan, limits in (
        ("epsilon past the limit", Plan(9, "grr", 1.0), {"most_epsilon": 0.9999999999999999}),
        ("items past the limit", Plan(items, "grr", 1.0), {"most_items": 19}),
        ("a size past the limit", Plan(20, "grr", 1.0), {"most_items": 19}),
        ("a report past the limit", Plan(801, "oue", 1.0), {"most_report_bytes": 100}),
        ("a report of sets past the limit", Plan(800, "oue", 1.0, set_size=2), {"most_report_bytes": 100}),
        ("items of sets past the limit", Plan(20, "grr", 1.0, set_size=2), {"most_items": 19}),
        ("no catch-all", Plan(items, "grr", 1.0), {"needs_other": True}),
        ("no catch-all number", Plan(9, "grr", 1.0), {"needs_other": True}),
    ):
        yield what, plan, limits
        Plan.from_json(plan.to_json(), **{**limits, **_looser(limits)})
    yield "a report past the library's limit", Plan(2**27 + 1, "oue", 1.0), {}
    yield "rounds past the library's limit", Plan(2**20, "ss", 1.0), {}


def _looser(limits: dict[str, Any]) -> dict[str, Any]:
    """The limits one step further, with which the plans above are accepted."""
    steps = {"most_epsilon": 1.0, "most_items": 20, "most_report_bytes": 101, "needs_other": False}
    return {name: steps[name] for name in limits}
