"""One device in a discovery: its group, its one report, and its budget."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from small_discovery import DESIGN, answered, keys, small

import localdp as ldp
from localdp.discovery.design import Design
from localdp.discovery.rounds import Round
from localdp.errors import BudgetError, InvalidInputError, PlanError, PlanLimitError, PlanMismatchError
from localdp.randomness.keystream import seeded
from localdp.studies.places import PLACES, Places, Span


def device(folder, discovery=None, **options):
    return ldp.DiscoveryClient((discovery or small()).to_json(), store=folder, **options)


def device_in_group(tmp_path, group, **options):
    """A device that answers this round; a new device does with probability 0.2 or more."""
    ends = np.cumsum(DESIGN.shares) * PLACES // 100
    first = 0 if not group else int(ends[group - 1])
    devices = (device(tmp_path / str(number), **options) for number in range(300))
    return next(made for made in devices if first <= made.place < ends[group])


def test_a_device_answers_the_round_of_its_group_and_no_other(tmp_path):
    first, asked = device_in_group(tmp_path, 0), small().round
    batch = first.report(40_000, asked.to_json())
    assert len(asked.plan.read(batch)) == 1
    other = device_in_group(tmp_path / "others", 2)
    assert other.report(40_000, asked.to_json()) is None
    assert other.spent == 0
    assert first.spent == 4.0


def test_a_device_answers_once_whatever_it_is_asked(tmp_path):
    client, asked = device_in_group(tmp_path, 0), small().round
    batch = client.report(40_000, asked.to_json())
    assert all(client.report(value, asked.to_json()) == batch for value in (40_000, 7, None))
    again = device(client._store.folder)  # after a restart
    assert again.place == client.place
    assert again.report(7, asked.to_json()) == batch
    assert again.spent == 4.0


def test_a_second_document_for_the_same_round_gets_no_second_answer(tmp_path):
    """Whoever publishes two lists of candidates for round 1 learns from a device about one of them only."""
    asked = small().advance(answered(small(), keys(20_000)), small().round).round
    fewer = replace(asked.candidates, open=asked.candidates.open[:2])
    rounds = [asked, Round.make(asked.discovery, 1, fewer, 4.0, asked.span)]
    client = device_in_group(tmp_path, 1)
    client.report(40_000, rounds[0].to_json())
    with pytest.raises(PlanMismatchError, match="has answered another document of this discovery, and answers once"):
        client.report(40_000, rounds[1].to_json())
    assert client.spent == 4.0


def test_a_round_of_another_discovery_is_refused(tmp_path):
    with pytest.raises(PlanMismatchError, match="belongs to another discovery"):
        device(tmp_path).report(7, small("another name").round.to_json())


def test_a_round_that_asks_for_more_than_its_discovery_is_refused(tmp_path):
    """The document says that it belongs to this discovery, and its plan has a larger epsilon."""
    greedy = Round.make(small().fingerprint, 0, small()._candidates, 8.0, Span(0, PLACES))
    with pytest.raises(PlanLimitError, match="asks for epsilon 8, and this device gives at most 4"):
        device(tmp_path).report(7, greedy.to_json())


def test_the_cap_and_the_largest_epsilon_of_a_device_hold(tmp_path):
    client = device_in_group(tmp_path, 0, most=3.0)
    with pytest.raises(BudgetError, match="would spend epsilon 4"):
        client.report(7, small().round.to_json())
    with pytest.raises(PlanLimitError, match="this discovery asks for epsilon 4, and this device gives at most 2"):
        device(tmp_path / "careful", most_epsilon=2.0)


@pytest.mark.parametrize("value", [None, -1, 1 << 16])
def test_a_value_that_cannot_be_found_is_reported_all_the_same(tmp_path, value):
    client = device_in_group(tmp_path, 0)
    assert client.report(value, small().round.to_json()) is not None


def test_a_value_of_another_kind_is_refused_in_every_group(tmp_path):
    for group in (0, 3):
        with pytest.raises(InvalidInputError, match="every key must be a whole number"):
            device_in_group(tmp_path, group).report("tea", small().round.to_json())


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "no JSON",
        lambda _: "[]",
        lambda document: json.dumps(document | {"format": "other"}),
        lambda document: json.dumps({key: document[key] for key in list(document)[1:]}),
    ],
)
def test_what_is_not_a_discovery_is_refused(tmp_path, damage):
    with pytest.raises(PlanError, match="this is not a discovery"):
        ldp.DiscoveryClient(damage(json.loads(small().to_json())), store=tmp_path)


def test_all_places_are_equally_likely():
    """20,000 draws in four equal parts: each count is binomial, and 5.5 deviations are exceeded once in 10 million."""
    drawn = np.bincount(Places().draw(20_000, seeded(5)) * 4 // PLACES, minlength=4)
    assert (abs(drawn - 5_000) < 5.5 * np.sqrt(5_000 * 3 / 4)).all()


def test_the_place_of_a_device_differs_between_discoveries(tmp_path):
    """Two of five are equal once in 10^5 times, and no more than three differ once in 10^10."""
    assert len({device(tmp_path, small(str(number))).place for number in range(5)}) > 3


def test_a_round_by_devices_keeps_what_they_hold(tmp_path):
    """The first round in bytes: 120 devices with stores of their own, whose batches are read and counted."""
    design = Design((97, 1, 1, 1), DESIGN.bits, DESIGN.reach)
    discovery = ldp.Discovery.designed(small().code, 4.0, 120, 2, "devices", design)
    values = [40_000] * 90 + [7] * 30
    clients = [device(tmp_path / str(place), discovery) for place in range(len(values))]
    asked, text = discovery.round, discovery.round.to_json()
    aggregate = ldp.Aggregate(asked.plan)
    for client, value in zip(clients, values, strict=True):
        batch = client.report(value, text)
        if batch is not None:
            aggregate.add(asked.plan.read(batch))
    following = discovery.advance(aggregate, asked)
    assert 40_000 >> 8 in following.round.candidates.open[:, 0]
    assert aggregate.n == sum(client.spent == 4.0 for client in clients)
    assert all(client.spent in (0, 4.0) for client in clients)
