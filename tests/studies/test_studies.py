"""Studies: places, parts, tallies, and reading a study of any kind."""

from __future__ import annotations

import json
from functools import cached_property

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import (
    ArchiveError,
    InvalidInputError,
    PlanError,
    PlanLimitError,
    PlanMismatchError,
    TooFewReportsError,
)
from localdp.plan.limits import Limits
from localdp.randomness.keystream import seeded
from localdp.sets import Survey
from localdp.studies import Part, Places, Single, Span, Study, Tally, register, study_in
from localdp.studies.places import spans
from localdp.studies.study import state_of

ITEMS = ["tea", "milk", "bread"]
PLAN = ldp.Plan(ITEMS, epsilon=2.0)
DISCOVERY = ldp.Discovery(bits=12, epsilon=4.0, users=20_000, top=3)
SURVEY = Survey(ITEMS, epsilon=4.0, users=8_000, top=2)
BASKETS = [["tea", "milk"], ["milk"], ["bread"], []]
STUDIES = {"plan": Single(PLAN), "discovery": DISCOVERY, "survey": SURVEY}
VALUES = {"plan": ["tea", "milk"] * 200, "discovery": [7, 4_000] * 200, "survey": BASKETS * 100}


@pytest.fixture(params=STUDIES)
def name(request):
    return request.param


def test_a_study_is_read_from_its_document_and_from_its_state(name):
    study = STUDIES[name]
    for text in (study.to_json(), study.to_json().encode(), state_of(study), state_of(study).encode()):
        found = study_in(text)
        assert type(found) is type(study)
        assert found.fingerprint == study.fingerprint
        assert [part.fingerprint for part in found.parts()] == [part.fingerprint for part in study.parts()]


def test_a_study_that_has_come_further_is_read_as_far_as_it_had_come():
    further = SURVEY.advance(
        Tally().counting(SURVEY.round, SURVEY.round.aggregate(SURVEY.round.privatize(BASKETS * 50)))
    )
    assert study_in(state_of(further)).number == 1
    assert study_in(further.to_json()).number == 0  # a document is what devices need, and says nothing of rounds


def test_every_part_counts_what_its_question_reads(name):
    (part,) = STUDIES[name].parts()
    held = part.question.read(VALUES[name])
    assert held.users == 400
    assert part.question.cells == part.plan.domain
    reports = part.privatize(VALUES[name], seed=3)
    assert np.array_equal(reports.rows, part.plan.privatize_held(held, seed=3).rows)
    assert part.aggregate(reports).n == 400
    assert part.question.read_one(VALUES[name][0]) == tuple(part.question.read(VALUES[name][:1]).items.tolist())


def test_a_part_is_read_from_its_document_and_reads_values_as_before(name):
    study = STUDIES[name]
    (part,) = study.parts()
    again = study.part_in(part.to_json())
    assert again == part
    assert again.span == part.span
    assert again.question.read(VALUES[name]).items.tolist() == part.question.read(VALUES[name]).items.tolist()


def test_the_details_of_a_question_make_it_anew(name):
    question = STUDIES[name].parts()[0].question
    details = json.loads(json.dumps(question.details()))
    again = type(question).from_details(details)
    assert again == question
    assert again.read(VALUES[name]).items.tolist() == question.read(VALUES[name]).items.tolist()


def test_what_is_typed_is_read_as_the_question_says():
    assert DISCOVERY.typed("77") == 77
    assert ldp.Discovery(epsilon=4.0, users=20_000).typed("77") == "77"
    assert SURVEY.typed("tea; milk") == ["tea", "milk"]
    assert SURVEY.round.question.typed("tea;") == ["tea"]
    assert Single(PLAN).typed("tea") == "tea"
    assert Single(ldp.Plan(5, epsilon=1.0)).typed("3") == 3
    with pytest.raises(InvalidInputError, match="whole number"):
        DISCOVERY.typed("tea")


def test_the_spans_of_a_survey_hold_every_place_once_in_the_shares_of_its_rounds():
    places = np.arange(SURVEY.places.size)
    asked = np.array([span.holds(places) for span in SURVEY.spans])
    assert (asked.sum(axis=0) == 1).all()
    assert asked.sum(axis=1).tolist() == list(SURVEY.shares)
    assert [span.share * 100 for span in SURVEY.spans] == list(SURVEY.shares)
    assert SURVEY.part_at(0) == SURVEY.round
    assert SURVEY.part_at(99) is None


def test_spans_have_no_place_in_common_and_hold_all():
    found = list(spans((3, 5, 2)))
    assert [place for span in found for place in range(10) if place in span] == list(range(10))
    assert None not in Span(0, 10)


def test_places_are_drawn_evenly():
    """10,000 draws out of 10: 5.5 deviations are exceeded once in 2 million draws of ten counts."""
    counts = np.bincount(Places(10).draw(10_000, seeded(2)), minlength=10)
    assert (np.abs(counts - 1_000) < 5.5 * np.sqrt(1_000 * 0.9)).all()


def test_tallies_add_up_by_part_day_and_segment():
    (part,) = Single(PLAN).parts()
    (other,) = Single(ldp.Plan(ITEMS, epsilon=1.0)).parts()
    counted = [part.aggregate(part.privatize(["tea"] * n)) for n in (1, 2, 4, 8)]
    tally = Tally().counting(part, counted[0], day=1, segment="a") + Tally().counting(part, counted[1], day=2)
    tally = tally.counting(part, counted[2], day=1, segment="a").counting(part, counted[3], day=1)
    assert tally.of(part).n == 15
    assert tally.of(part, where=lambda key: key.day == 1).n == 13
    assert tally.of(part, where=lambda key: key.segment == "a").n == 5
    assert tally.of(other).n == 0
    assert [aggregate.n for aggregate in counted] == [1, 2, 4, 8]
    with pytest.raises(PlanMismatchError):
        tally.counting(other, counted[0])
    with pytest.raises(InvalidInputError, match="counts Aggregates"):
        tally.counting(part, 3)


def test_a_series_advances_by_a_tally_as_by_an_aggregate():
    aggregate = SURVEY.round.aggregate(SURVEY.round.privatize(BASKETS * 100, seed=1))
    half = SURVEY.round.aggregate(SURVEY.round.privatize(BASKETS * 60, seed=2))
    tally = Tally().counting(SURVEY.round, half, day=1) + Tally().counting(SURVEY.round, aggregate, day=2)
    both = SURVEY.round.aggregate(SURVEY.round.privatize(BASKETS * 60, seed=2)).merge(aggregate)
    assert state_of(SURVEY.advance(tally)) == state_of(SURVEY.advance(both, SURVEY.round))
    with pytest.raises(TooFewReportsError, match="has 0 reports"):
        SURVEY.advance(Tally().counting(DISCOVERY.round.fingerprint, aggregate))
    with pytest.raises(PlanMismatchError, match="under another round"):
        SURVEY.advance(aggregate, DISCOVERY.round)
    with pytest.raises(PlanMismatchError, match="under another round"):
        SURVEY.advance(aggregate)


def test_a_plan_is_a_study_with_one_part_that_has_the_plans_bytes():
    study = Single(PLAN)
    (part,) = study.parts()
    assert study.fingerprint == part.fingerprint == PLAN.fingerprint
    assert study.to_json() == part.to_json() == PLAN.to_json()
    assert study.part_at(0) is study.part_at((1 << 20) - 1) is part
    tally = Tally().counting(part, PLAN.simulate([900, 100, 0], seed=1))
    assert study.advance(tally) is study
    assert not study.done
    expected = PLAN.simulate([900, 100, 0], seed=1).estimate().calibrate()
    assert study.result(tally).frequencies.tolist() == expected.frequencies.tolist()
    with pytest.raises(InvalidInputError, match="give result"):
        study.result()
    with pytest.raises(PlanMismatchError):
        study.part_in(ldp.Plan(ITEMS, epsilon=1.0).to_json())


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"format": "localdp-tea/1"}', '{"format": 3}', "{" * 5_000])
def test_what_is_no_study_is_refused(text):
    with pytest.raises(PlanError, match="this is not a plan"):
        study_in(text)


def test_altered_documents_and_states_are_refused(name):
    study = STUDIES[name]
    document = json.loads(study.to_json()) | {"epsilon": 17}
    with pytest.raises(PlanError):
        study_in(json.dumps(document))
    with pytest.raises(ArchiveError, match="checksum"):
        study_in(state_of(study).replace("epsilon", "epsilom"))


def test_limits_hold_for_documents_and_states(name):
    careful = Limits(1.0, None, None, False)
    for text in (STUDIES[name].to_json(), state_of(STUDIES[name])):
        with pytest.raises(PlanLimitError, match="this device gives at most 1"):
            study_in(text, careful)


def test_a_discovery_of_another_design_is_answered_and_a_misshapen_one_is_not():
    document = json.loads(DISCOVERY.to_json())
    other = document["design"] | {"shares": [50, 50], "bits": [12]}
    assert study_in(json.dumps(document | {"design": other})).round.span.share == 0.5
    for wrong in ({"bits": [12, 3]}, {"shares": [True, 50]}, {"reach": 0}, {"reach": True}, {"more": 1}):
        with pytest.raises(PlanError, match="this is not a discovery"):
            study_in(json.dumps(document | {"design": other | wrong}))


class Half(Part):
    """Half of the places are asked for a plan."""

    def __init__(self, study, number):
        self.study, self.number, self.plan = study, number, study.plan
        self.span = list(spans((1, 1)))[number]
        self._freeze()

    @property
    def key(self):
        return str(self.number)

    @cached_property
    def question(self):
        return self.plan.question

    def document(self):
        return {"format": "half/1", "study": self.study.fingerprint, "half": self.number}


class Halves(Study):
    """Two parts at the same time, with the same plan: a kind of study from outside of the library."""

    kind = "halves"
    what = title = "study in halves"
    done = False

    def __init__(self, plan):
        self.plan, self.epsilon = plan, plan.mechanism.requested_epsilon
        self._freeze()

    @property
    def places(self):
        return Places(2)

    def document(self):
        return {"format": self.format(), "plan": json.loads(self.plan.to_json())}

    @classmethod
    def from_document(cls, document):
        return cls(ldp.Plan.from_json(json.dumps(document["plan"])))

    def parts(self):
        return Half(self, 0), Half(self, 1)

    def read_part(self, text, limits):  # noqa: ARG002
        return next(part for part in self.parts() if part.to_json() == text)

    def advance(self, tally):  # noqa: ARG002
        return self

    def result(self, tally=None):
        first, second = (tally.of(part) for part in self.parts())
        return first.merge(second).estimate().calibrate()


def test_a_study_of_ones_own_is_read_answered_and_counted(tmp_path):
    register(Halves)
    study = study_in(Halves(PLAN).to_json())
    with pytest.raises(PlanError, match="this is not a study in halves"):
        study_in(json.dumps(study.document() | {"more": 1}))  # `from_document` does not look at it
    one, two = study.parts()
    assert one.plan == two.plan
    assert one.fingerprint != two.fingerprint
    tally, asked = Tally(), set()
    for number in range(24):
        client = ldp.Client(study.to_json(), store=tmp_path / str(number))
        answers = [client.report("tea", part.to_json()) for part in (one, two)]
        (given,) = [place for place, answer in enumerate(answers) if answer is not None]
        assert client.place == given
        assert client.spent == 2.0
        asked.add(given)
        part = (one, two)[given]
        tally = tally.counting(part, part.aggregate(part.plan.read(answers[given])))
    assert asked == {0, 1}  # all on one side has the probability 2^-23
    assert study.result(tally).n == 24
    study.save(tmp_path / "state")
    assert Halves.load(tmp_path / "state").fingerprint == study.fingerprint
    with pytest.raises(InvalidInputError, match="is taken"):
        register(type("Mine", (Halves,), {"kind": "discovery"}))


def test_a_part_that_asks_for_more_than_its_study_is_refused(tmp_path):
    """A device pays the epsilon of the study, so no part may spend more, whoever wrote the study."""

    class Understated(Halves):
        kind = "understated"

        def __init__(self, plan):
            self.plan, self.epsilon = plan, plan.mechanism.epsilon / 2
            self._freeze()

    study = Understated(PLAN)
    client = ldp.Client(study, store=tmp_path / "device")
    with pytest.raises(ldp.errors.PlanLimitError, match="a part of this study in halves asks for epsilon"):
        client.report("tea", study.parts()[0].to_json())
    assert client.spent == 0
