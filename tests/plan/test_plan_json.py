"""Plans as JSON: the pinned text, what is refused, and reading that skips nothing although it compares less."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import localdp as ldp
from localdp.errors import LocalDPError, PlanError
from localdp.formats import canonical_json
from localdp.mechanisms import MECHANISMS


@pytest.fixture
def plan():
    return ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0)


def test_fingerprint_is_pinned(plan):
    """It is the plan's name on the wire: if this changes, every deployed device is orphaned."""
    assert plan.to_json() == (
        '{"domain":{"items":["tea","coffee","water"]},"epsilon":1,"format":"localdp-plan/1","mechanism":"oue",'
        '"parameters":{"keep":"9223372036854775808","noise":"4961093570831980854"},"width":64}'
    )
    assert plan.fingerprint == "21ac204a2351467ddaaace3248d545ae825d9e9692c3c925cbcc746e4de758a2"


@pytest.mark.parametrize("name", [*MECHANISMS, "auto"])
@pytest.mark.parametrize("domain", [2, 1000, ["a", "b", "ü", "\n"], [5, 3, 9], [1, "1", 2.5, False]])
def test_plan_survives_json(name, domain):
    plan = ldp.Plan(domain, mechanism=name, epsilon=0.5)
    again = ldp.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.mechanism == plan.mechanism
    assert again.domain == plan.domain
    assert again.to_json() == plan.to_json()
    assert ldp.Plan.from_json(plan.to_json().encode()) == plan
    spaced = json.dumps(json.loads(plan.to_json()), indent=2)
    assert ldp.Plan.from_json(spaced) == plan


def test_other_parameters_are_another_plan(plan):
    others = [
        ldp.Plan(["tea", "water", "coffee"], mechanism="oue", epsilon=1.0),
        ldp.Plan(3, mechanism="oue", epsilon=1.0),
        ldp.Plan(["tea", "coffee", "water"], mechanism="sue", epsilon=1.0),
        ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0000001),
    ]
    assert len({plan, *others}) == 5


ALTERED, MISSHAPEN = "this plan was altered", "this is not a plan: its domain, mechanism or epsilon is missing"


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("epsilon", 1.5, ALTERED),
        ("epsilon", True, "cannot be used: epsilon must be a number above 0"),
        ("epsilon", "1", "cannot be used: epsilon must be a number above 0"),
        ("epsilon", float("nan"), "NaN has no place in JSON"),
        ("epsilon", 10**400, "cannot be used: epsilon must be above 0"),
        ("width", 32, ALTERED),
        ("width", "64", ALTERED),
        ("mechanism", "sue", ALTERED),
        ("mechanism", "nonsense", "cannot be used: .*nonsense"),
        ("mechanism", ["oue"], "cannot be used: "),
        ("parameters", {"keep": "18446744073709551615", "noise": "1"}, ALTERED),
        ("parameters", {}, ALTERED),
        ("domain", {"items": ["tea", "coffee"], "size": 2}, MISSHAPEN),
        ("domain", {"items": ["tea", "coffee", "water"], "more": 1}, MISSHAPEN),
        ("domain", {"items": 3}, MISSHAPEN),
        ("domain", {"items": "tea"}, MISSHAPEN),
        ("domain", {"items": {"tea": 1, "coffee": 2}}, MISSHAPEN),
        ("domain", {"items": None}, MISSHAPEN),
        ("domain", {"size": ["tea", "coffee", "water"]}, MISSHAPEN),
        ("domain", {"size": 3.0}, MISSHAPEN),
        ("domain", {"size": True}, "cannot be used: a domain is a list of items or a number"),
        ("domain", {"size": 10**30}, "cannot be used: a domain holds at most"),
        ("domain", {"items": ["tea", "tea", "water"]}, "cannot be used: the item 'tea' is in the domain twice"),
        ("domain", {"items": [1, True, 3]}, "cannot be used: the item True .equal to 1. is in the domain twice"),
        ("domain", {"items": ["tea", "coffee", "\ud800"]}, "cannot be used: .* cannot be an item"),
        ("domain", {}, MISSHAPEN),
        ("domain", ["items"], MISSHAPEN),
        ("domain", 3, MISSHAPEN),
        ("domain", None, MISSHAPEN),
        ("format", "localdp-plan/2", "this is not a plan: a plan is a JSON object with"),
        ("extra", 1, ALTERED),
    ],
)
def test_altered_plan_is_refused(plan, key, value, sentence):
    document = json.loads(plan.to_json()) | {key: value}
    with pytest.raises(PlanError, match=sentence):
        ldp.Plan.from_json(json.dumps(document))


@pytest.mark.parametrize("key", ["domain", "mechanism", "epsilon", "width", "parameters", "format"])
def test_plan_without_a_key_is_refused(plan, key):
    document = json.loads(plan.to_json())
    del document[key]
    with pytest.raises(PlanError, match=r"this is not a plan|this plan was altered"):
        ldp.Plan.from_json(json.dumps(document))


def test_plan_with_a_key_twice_is_refused(plan):
    """A device whose parser keeps the first would use another threshold than the one that was checked."""
    for doubled in ('"parameters":{"keep":"1","noise":"1"}', '"domain":{"items":["tea","coffee","milk"]}'):
        with pytest.raises(PlanError, match="twice"):
            ldp.Plan.from_json("{" + doubled + "," + plan.to_json()[1:])
    with pytest.raises(PlanError, match="twice"):
        ldp.Plan.from_json(plan.to_json().replace('{"items":', '{"items":["tea","coffee"],"items":'))


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_deeply_nested_plan_is_refused(plan, depth):
    text = plan.to_json()[:-1] + ',"extra":' + "[" * depth + "]" * depth + "}"
    with pytest.raises(PlanError, match=r"this is not a plan|this plan was altered"):
        ldp.Plan.from_json(text)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", b"\xff", '{"format":"localdp-plan/1"}', None, 7])
def test_what_is_not_a_plan_is_refused(text):
    with pytest.raises(PlanError, match="not a plan"):
        ldp.Plan.from_json(text)


def read_by_definition(text):
    """A plan from JSON, compared with what was read whole and item by item; None if it is refused."""
    try:
        document = canonical_json.loads(text)
        domain = document["domain"]
        items = domain["items"] if "items" in domain else domain["size"]
        plan = ldp.Plan(items, document["mechanism"], document["epsilon"])
        same = canonical_json.definition(plan._document()) == canonical_json.definition(document)
    except (LocalDPError, ValueError, KeyError, TypeError):
        return None
    return plan if same else None


any_text = st.text(st.characters(exclude_categories=()), max_size=3)
values = st.none() | st.booleans() | st.integers(-2, 4) | st.sampled_from([0.0, 1.0, 2.5, 1e300, 2**53]) | any_text
domains = (
    st.fixed_dictionaries({"items": st.lists(any_text, max_size=4) | st.lists(values, max_size=4) | values})
    | st.fixed_dictionaries({"size": values | st.lists(values, max_size=3)})
    | st.dictionaries(st.sampled_from(["items", "size", "more"]), st.lists(any_text, max_size=3) | values)
    | values
    | st.lists(values)
)


@given(domains, st.booleans())
@example({"items": [1, 0]}, True)
@example({"items": [1.0, 0.5]}, True)
@example({"items": [True, 0.5]}, True)
@example({"items": ["\x7f\u2028", "\x00\b\n", "🍵"]}, False)
@example({"items": ['a","b', '",', "\\"]}, False)
def test_a_domain_is_read_as_the_definition_reads_it(domain, escaped):
    size = max(2, len(domain["items"])) if isinstance(domain, dict) and isinstance(domain.get("items"), list) else 3
    document = json.loads(ldp.Plan(size, "oue", 1.0).to_json()) | {"domain": domain}
    text = json.dumps(document, ensure_ascii=escaped, separators=(",", ":"), sort_keys=True)
    expected = read_by_definition(text)
    if expected is None:
        with pytest.raises(PlanError, match="plan"):
            ldp.Plan.from_json(text)
    else:
        found = ldp.Plan.from_json(text)
        assert found == expected
        assert list(map(type, found.domain.items)) == list(map(type, expected.domain.items))
        assert found.to_json() == canonical_json.definition(document)


@given(st.lists(any_text, min_size=2, max_size=5, unique=True))
def test_the_text_of_a_plan_is_that_of_the_definition(items):
    if not canonical_json.is_unicode("".join(items)):
        return
    plan = ldp.Plan(items, "grr", 1.0)
    assert plan.to_json() == canonical_json.definition(plan._document())
    assert ldp.Plan.from_json(plan.to_json()).domain.items == tuple(items)


@pytest.mark.parametrize(("text", "told"), [("plan.json", True), ("http://a.example/plan", True), ('{"format', False)])
def test_a_name_in_the_place_of_a_text_is_told(text, told):
    with pytest.raises(PlanError, match="this is not a plan: it is not text in JSON") as refused:
        ldp.Plan.from_json(text)
    assert ("give the text itself, not the name of a file or an address" in str(refused.value)) == told
