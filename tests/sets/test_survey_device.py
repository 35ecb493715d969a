"""One device in a survey of sets: its group, its one answer, and what it refuses."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from localdp.client import one_answer
from localdp.errors import (
    BudgetError,
    InvalidInputError,
    PlanError,
    PlanLimitError,
    PlanMismatchError,
    StoreError,
    UnknownItemError,
)
from localdp.item_sets import ItemSets
from localdp.sets import Survey, SurveyClient
from localdp.sets.rounds import Round

ITEMS = ["tea", "milk", "bread", "rice", "soap"]


def made(**options):
    return Survey(ITEMS, **{"epsilon": 2.0, "users": 10_000, "top": 2} | options)


def rounds(survey):
    """The document of every round, as other users' reports lead to it."""
    sets = ItemSets.read([["tea", "milk"], ["tea"], [], ["bread", "tea", "milk"]] * 500, survey.domain)
    while not survey.done:
        yield survey.round
        survey = survey.advance(survey.round.plan.aggregate(survey.round.privatize(sets, seed=1)), survey.round)


def test_a_device_answers_its_own_round_once_and_pays_once(tmp_path):
    survey = made()
    client = SurveyClient(survey.to_json(), store=tmp_path)
    assert client.spent == 0
    answers = {asked.number: client.report(["tea", "milk"], asked.to_json()) for asked in rounds(survey)}
    given = {number: answer for number, answer in answers.items() if answer is not None}
    assert list(given) == [client.group]
    assert client.spent == 2.0
    (asked,) = [asked for asked in rounds(survey) if asked.number == client.group]
    assert len(asked.plan.read(given[client.group])) == 1
    # Asked again, also for something else and by another process, it gives the same bytes.
    again = SurveyClient(survey.to_json(), store=tmp_path)
    assert again.group == client.group
    assert again.report(["soap"], asked.to_json()) == given[client.group]
    assert again.spent == 2.0


def test_the_group_follows_the_shares_and_not_the_set(tmp_path):
    """The groups of one device in 400 surveys; 6 deviations have a probability of 1.5e-7 (binomial, all groups)."""
    shares = np.array(made().shares) / 100
    found = [SurveyClient(made(name=str(n)).to_json(), store=tmp_path).group for n in range(400)]
    counts = np.bincount(found, minlength=4)
    assert (np.abs(counts - 400 * shares) < 6 * np.sqrt(400 * shares * (1 - shares))).all()


def in_group(survey, number, folder):
    """A device of this group."""
    clients = (SurveyClient(survey.to_json(), store=folder / str(n), most=4.0) for n in range(500))
    return next(client for client in clients if client.group == number)


@pytest.mark.parametrize("number", range(4))
def test_a_report_depends_on_secret_document_and_set_alone(number, tmp_path):
    survey = made()
    (asked,) = [asked for asked in rounds(survey) if asked.number == number]
    client = in_group(survey, number, tmp_path)
    folder = client._answers._answer.path.parent.parent
    backup = tmp_path / "backup"
    shutil.copytree(folder, backup)
    first = client.report(["tea"], asked.to_json())
    restored = SurveyClient(survey.to_json(), store=backup, most=4.0)
    assert restored.report(["tea", "tea"], asked.to_json()) == first


def test_a_device_that_lost_its_answer_gives_no_second_one(tmp_path):
    survey = made()
    client = in_group(survey, 0, tmp_path)
    assert client.report(["tea"], survey.round.to_json())
    client._answers._answer.path.unlink()
    with pytest.raises(StoreError, match="has paid for an answer in this survey, and the file of the answer is gone"):
        client.report(["tea"], survey.round.to_json())


def test_two_documents_for_one_round_get_one_answer(tmp_path):
    survey = made()
    asked = next(asked for asked in rounds(survey) if asked.number == 2)
    client = in_group(survey, 2, tmp_path)
    assert client.report(["tea"], asked.to_json())
    other = type(asked).of_sizes(asked.survey, 2, asked.candidates[::-1], asked.items, 2.0)
    with pytest.raises(PlanMismatchError, match="another document of this survey"):
        client.report(["tea"], other.to_json())
    assert client.spent == 2.0


def test_the_cap_holds(tmp_path):
    survey = made(epsilon=3.0)
    client = in_group(survey, 0, tmp_path)
    client.report(["tea"], survey.round.to_json())
    folder = client._answers._answer.path.parent.parent
    for name in map(str, range(200)):
        following = made(epsilon=3.0, name=name)
        second = SurveyClient(following.to_json(), store=folder, most=4.0)
        if second.group == 0:
            break
    with pytest.raises(BudgetError, match="has spent 3 of at most 4"):
        second.report(["tea"], following.round.to_json())


@pytest.mark.parametrize(
    ("value", "error"), [("tea", InvalidInputError), (["beer"], UnknownItemError), (None, InvalidInputError)]
)
def test_what_is_no_set_of_items_is_refused_and_nothing_is_spent(value, error, tmp_path):
    survey = made()
    client = SurveyClient(survey.to_json(), store=tmp_path)
    with pytest.raises(error):
        client.report(value, survey.round.to_json())
    assert client.spent == 0


def test_rounds_of_other_surveys_and_other_budgets_are_refused(tmp_path):
    client = SurveyClient(made().to_json(), store=tmp_path)
    with pytest.raises(PlanMismatchError, match="belongs to another survey"):
        client.report([], made(name="another").round.to_json())
    greedy = made().round
    greedy = type(greedy).of_sizes(greedy.survey, 0, None, 5, 3.0)
    with pytest.raises(PlanLimitError, match="asks for epsilon 3, and this device gives at most 2"):
        client.report([], greedy.to_json())
    with pytest.raises(PlanLimitError, match="asks for epsilon 5, and this device gives at most 4"):
        SurveyClient(made(epsilon=5.0).to_json(), store=tmp_path)


def test_a_device_has_the_limits_that_clients_have(tmp_path):
    with pytest.raises(PlanLimitError, match="has 5 items, and this device takes at most 4"):
        SurveyClient(made().to_json(), store=tmp_path, most_items=4)
    with pytest.raises(PlanLimitError, match="no catch-all item"):
        SurveyClient(made().to_json(), store=tmp_path, needs_other=True)
    survey = Survey(60_000, epsilon=2.0, users=10_000)
    asked = Round.of_sets(survey.fingerprint, 1, None, 60_000, 2.0, 8)
    assert asked.plan.mechanism.report_bytes > 4_096
    with pytest.raises(PlanLimitError, match="bytes"):
        SurveyClient(survey.to_json(), store=tmp_path).report([1], asked.to_json())


@pytest.mark.parametrize(
    ("number", "asks", "listed"), [(0, "set", False), (1, "size", False), (1, "set", True), (2, "size", False)]
)
def test_a_round_asks_what_its_number_says(number, asks, listed):
    """So a collector cannot ask those for their sets who were told that they are asked for a size."""
    given = ("00" * 32, number, ((0,), (1,)) if listed else None, 5, 1.0)
    with pytest.raises(PlanError, match="something else than a round of its number"):
        Round.of_sizes(*given) if asks == "size" else Round.of_sets(*given, 2)


@pytest.mark.parametrize("change", ["format", "shares", "keys", "domain", "text"])
def test_what_is_no_survey_is_refused(change, tmp_path):
    document = json.loads(made().to_json())
    match change:
        case "format":
            document["format"] = "localdp-sets/2"
        case "shares":
            document["shares"] = [50, 50]
        case "keys":
            document["more"] = 1
        case "domain":
            document["domain"] = {"size": -1}
    with pytest.raises(PlanError, match="this is not a survey of sets"):
        SurveyClient("no" if change == "text" else json.dumps(document), store=tmp_path)


def test_devices_and_sets_at_hand_lead_to_one_result(tmp_path):
    """40 real devices among 1,000 users: their reports count as the others' do."""
    survey = Survey(ITEMS, epsilon=4.0, users=1_000, top=1)
    clients = [SurveyClient(survey.to_json(), store=tmp_path / str(n)) for n in range(40)]
    others = ItemSets.read([["tea"]] * 240, survey.domain)
    while not survey.done:
        asked = survey.round
        aggregate = asked.plan.aggregate(asked.privatize(others, seed=survey.number))
        for client in clients:
            answer = client.report(["tea"], asked.to_json())
            if answer is not None:
                aggregate.add(asked.plan.read(answer))
        survey = survey.advance(aggregate, asked)
    assert survey.result().items == ["tea"]
    assert survey.result().n == 1_000
    assert all(client.spent == 4.0 for client in clients)


@pytest.mark.parametrize("number", [1, 3])  # the others ask how large a set is
def test_every_set_has_noise_of_its_own(number, tmp_path, monkeypatch):
    """Two answers with the same noise give both sets away to whoever sees them, as after a restored backup."""
    survey, keys = made(), []
    stream = one_answer.Keystream
    monkeypatch.setattr(one_answer, "Keystream", lambda key: keys.append(key) or stream(key))
    (asked,) = [asked for asked in rounds(survey) if asked.number == number]
    folder = in_group(survey, number, tmp_path)._answers._answer.path.parent.parent
    for place, items in enumerate((["tea", "milk"], ["tea", "bread"], ["milk", "tea"])):
        copy = tmp_path / f"copy{place}"
        shutil.copytree(folder, copy)
        SurveyClient(survey.to_json(), store=copy, most=4.0).report(items, asked.to_json())
    assert keys[0] == keys[2] != keys[1]
