"""Questions: what they read, what they write into plans, and kinds that the library does not know."""

import json

import numpy as np
import pytest
from questions_outside import Gaps, Hour

import localdp as ldp
from localdp.errors import InvalidInputError, PlanError, PlanLimitError
from localdp.held import OneEach
from localdp.item_sets import ItemSets
from localdp.plan.part_key import PartKey
from localdp.questions import register

ITEMS = ["tea", "coffee", "water"]
STUDY = "ab" * 32


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (ldp.Choice(ITEMS), {}),
        (ldp.Choice(ITEMS, other="else"), {"other": "else"}),
        (ldp.Choices(ITEMS, most=2), {"set_size": 2}),
        (ldp.Choices(ITEMS, most=2, other="else"), {"set_size": 2, "other": "else"}),
    ],
)
def test_a_plan_of_a_question_is_the_plan_of_its_items(question, options):
    asked, given = ldp.Plan(question, epsilon=2.0), ldp.Plan(ITEMS, epsilon=2.0, **options)
    assert asked.to_json() == given.to_json()
    assert asked.question == given.question == ldp.Plan.from_json(given.to_json()).question
    assert "question" not in json.loads(asked.to_json())


def test_what_users_hold_is_read_by_the_question():
    assert isinstance(ldp.Choice(ITEMS).read(["tea"]), OneEach)
    assert isinstance(ldp.Choices(ITEMS).read([["tea"]]), ItemSets)
    assert ldp.Choices(ITEMS, most=2).read_one(["water", "tea"]) == (0, 2)
    assert ldp.Choice(ITEMS).read_one("water") == (2,)


def test_the_total_is_known_only_if_everybody_holds_one_item():
    assert ldp.Plan(ITEMS, epsilon=4.0).simulate([10, 20, 30], seed=1).estimate().total == 60
    several = ldp.Plan(ITEMS, epsilon=4.0, set_size=2)
    assert several.aggregate(several.privatize([["tea"], []], seed=1)).estimate().total is None


@pytest.mark.parametrize("options", [{"other": "else"}, {"set_size": 2}])
def test_a_question_brings_its_own_catch_all_and_set_size(options):
    with pytest.raises(InvalidInputError, match="a question brings its own"):
        ldp.Plan(ldp.Choice(ITEMS), epsilon=1.0, **options)


def test_a_mechanism_must_fit_the_question():
    mechanism = ldp.Plan(ITEMS, epsilon=1.0, set_size=2).mechanism
    assert ldp.Plan(ITEMS, mechanism).question == ldp.Choices(ITEMS, most=2)
    with pytest.raises(InvalidInputError, match="their set sizes differ"):
        ldp.Plan(ldp.Choice(ITEMS), mechanism)


def test_sets_are_refused_where_everybody_holds_one_item():
    plan = ldp.Plan(ITEMS, epsilon=1.0)
    with pytest.raises(InvalidInputError, match="sets need a plan with set_size"):
        plan.privatize_held(ItemSets(np.array([0, 1]), np.array([2])))


def test_a_plan_with_an_outside_question_is_read_again():
    plan = ldp.Plan(Hour(4), Gaps.name, 2.0)
    again = ldp.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.question == Hour(4) != Hour(3)
    assert list(again.domain.items) == ["00h", "04h", "08h", "12h", "16h", "20h"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"question": {"name": "unheard-of"}}, "a kind of question that is not known here: 'unheard-of'"),
        ({"question": {"name": "test-hour", "step": 5}}, "the step of hours is"),
        ({"question": 7}, "misshapen"),
        ({"question": {}}, "misshapen"),
        ({"domain": {"size": 6}}, "altered"),
    ],
)
def test_other_questions_in_a_plan_are_refused(change, complaint):
    document = json.loads(ldp.Plan(Hour(4), Gaps.name, 2.0).to_json()) | change
    with pytest.raises(PlanError, match=complaint):
        ldp.Plan.from_json(json.dumps(document))


def test_a_device_that_wants_an_answer_for_everything_asks_the_question():
    text = ldp.Plan(Hour(4), Gaps.name, 2.0).to_json()
    assert ldp.Plan.from_json(text, needs_other=True)
    Hour.takes_everything, kept = False, Hour.takes_everything
    try:
        with pytest.raises(PlanLimitError, match="no catch-all"):
            ldp.Plan.from_json(text, needs_other=True)
    finally:
        Hour.takes_everything = kept


def test_the_names_of_the_library_are_taken():
    class Imitation(Hour):
        name = "choice"

    with pytest.raises(InvalidInputError, match="belongs to the library"):
        register(Imitation)


def test_parts_that_ask_the_same_never_share_a_fingerprint_or_a_batch():
    yes_no = ldp.Choice(["yes", "no"])
    alone = ldp.Plan(yes_no, "grr", 1.0)
    smokes, drinks = (ldp.Plan(yes_no, "grr", 1.0, part=PartKey(STUDY, name)) for name in ("smokes", "drinks"))
    elsewhere = ldp.Plan(yes_no, "grr", 1.0, part=PartKey("cd" * 32, "smokes"))
    assert len({plan.fingerprint for plan in (alone, smokes, drinks, elsewhere)}) == 4
    assert ldp.Plan.from_json(smokes.to_json()).part == PartKey(STUDY, "smokes")
    with pytest.raises(ldp.errors.WireError, match="unknown-plan"):
        drinks.read(smokes.privatize(["yes"]).to_bytes())
    with pytest.raises(ldp.errors.PlanMismatchError):
        smokes.aggregate(smokes.privatize(["yes"])).merge(drinks.aggregate(drinks.privatize(["no"])))


def test_parts_that_ask_the_same_are_paid_for_apart(tmp_path):
    for name in ("smokes", "drinks"):
        plan = ldp.Plan(["yes", "no"], "grr", 1.0, part=PartKey(STUDY, name))
        client = ldp.Client(plan, store=tmp_path / "device", most=8.0)
        client.report("yes")
    assert client.spent == pytest.approx(2 * plan.mechanism.epsilon)


@pytest.mark.parametrize(
    "part", [None, {}, {"study": STUDY}, {"study": "x", "name": "a"}, {"study": STUDY, "name": ""}]
)
def test_other_keys_of_parts_are_refused(part):
    document = json.loads(ldp.Plan(ITEMS, "grr", 1.0, part=PartKey(STUDY, "drinks")).to_json()) | {"part": part}
    with pytest.raises(PlanError):
        ldp.Plan.from_json(json.dumps(document))
