"""What a device does when files of its store are lost, damaged or put back, and when it is stopped at any moment.

Whatever happens, a device that has released a report in a discovery never releases another one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_discovery import answered, keys, small

import localdp as ldp
from localdp.client import one_answer, one_part
from localdp.client.secret import Secret
from localdp.discovery.device import DiscoveryClient
from localdp.discovery.rounds import Round
from localdp.errors import BudgetError, PlanMismatchError, StoreError
from localdp.formats import batch
from localdp.randomness.keystream import Keystream
from localdp.studies.places import PLACES, Span

DISCOVERY = small()
FIRST = DISCOVERY.round
ASKED = Round.make(DISCOVERY.fingerprint, 0, FIRST.candidates, 4.0, Span(0, PLACES))
"""The first round, which asks everybody here."""
QUESTION = ASKED.to_json()


def device(folder, **options):
    return DiscoveryClient(DISCOVERY.to_json(), store=folder, **options)


def answer_of(folder):
    return next((folder / "discoveries").iterdir())


def copied(folder, to):
    shutil.copytree(folder, to, copy_function=shutil.copy2)
    to.chmod(0o700)
    return to


def test_a_device_that_has_paid_and_lost_its_answer_gives_no_second_one(tmp_path):
    client = device(tmp_path / "one")
    client.report(40_000, QUESTION)
    answer_of(tmp_path / "one").unlink()
    for asked in (client, device(tmp_path / "one")):
        for value in (40_000, 7):
            with pytest.raises(
                StoreError, match="has paid for an answer in this discovery, and the file of the answer"
            ):
                asked.report(value, QUESTION)
    assert client.spent == 4.0
    shutil.rmtree(tmp_path / "one" / "discoveries")
    with pytest.raises(StoreError, match="is gone"):
        device(tmp_path / "one").report(40_000, QUESTION)


@pytest.mark.parametrize("damage", [lambda _: b"", lambda data: data[:-1], lambda data: data[:40] + b"x" + data[41:]])
def test_a_damaged_answer_is_not_released_and_not_replaced(tmp_path, damage):
    device(tmp_path).report(40_000, QUESTION)
    path = answer_of(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match="is damaged"):
        device(tmp_path).report(40_000, QUESTION)


@pytest.mark.parametrize("lost", [("device",), ("device.copy",), ("lock",), ("device", "lock")])
def test_a_lost_copy_of_the_record_or_a_lost_lock_changes_nothing(tmp_path, lost):
    client = device(tmp_path)
    report, place = client.report(40_000, QUESTION), client.place
    for name in lost:
        (tmp_path / name).unlink()
    again = device(tmp_path)
    assert (again.report(7, QUESTION), again.place, again.spent) == (report, place, 4.0)


@pytest.mark.parametrize("lost", [("device", "device.copy"), ("device", "device.copy", "lock")])
def test_an_answer_without_a_record_is_not_a_new_device(tmp_path, lost):
    device(tmp_path).report(40_000, QUESTION)
    for name in lost:
        (tmp_path / name).unlink()
    with pytest.raises(StoreError, match="both copies of its record are gone"):
        device(tmp_path)


def test_a_record_from_before_the_payment_pays_again_for_the_same_answer(tmp_path):
    device(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ("device", "device.copy")}
    report = device(tmp_path).report(40_000, QUESTION)
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    again = device(tmp_path)
    assert again.spent == 0
    assert again.report(7, QUESTION) == report
    assert again.spent == 4.0


def test_a_store_from_before_the_answer_gives_the_same_answer_again(tmp_path):
    """A backup brings back a device that knows nothing of its answer. Its noise is derived, so it says nothing new."""
    device(tmp_path / "one")
    copied(tmp_path / "one", tmp_path / "backup")
    report = device(tmp_path / "one").report(40_000, QUESTION)
    assert device(tmp_path / "backup").report(40_000, QUESTION) == report


def test_another_cell_and_another_document_have_noise_of_their_own(tmp_path):
    """Two reports with the same noise would give both values away, so the keys differ."""
    client, other = device(tmp_path / "one"), small("other")
    keys_used = []
    real = Secret.key
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Secret, "key", lambda self, message: keys_used.append(real(self, message)) or keys_used[-1])
        for document in (ASKED, FIRST):
            for cell in (0, 1, 200):
                client._answers._answer._noise(document.fingerprint, [cell])
        DiscoveryClient(other.to_json(), store=tmp_path / "one")._answers._answer._noise(ASKED.fingerprint, [0])
        device(tmp_path / "two")._answers._answer._noise(ASKED.fingerprint, [0])
    assert len(set(keys_used)) == len(keys_used) == 8


@pytest.mark.parametrize("code", ["keys", "texts"])
def test_as_many_words_are_drawn_for_every_value(tmp_path, monkeypatch, code):
    """Place and report together, with one key for all values: values of all lengths, in and outside of the code."""
    if code == "keys":
        discovery, values = DISCOVERY, [0, 7, 65_535, 1 << 16, None]
    else:
        discovery = ldp.Discovery(epsilon=4.0, users=100_000, most_bytes=64)
        values = [
            "",
            "tea",
            "https://docs.python.org/3/library/os.html",
            "z" * 64,
            "z" * 65,
            "\u00e9" * 32,
            None,
            b"\xff",
        ]
    question = Round.make(discovery.fingerprint, 0, discovery.round.candidates, 4.0, Span(0, PLACES)).to_json()
    streams = []

    class Counted(Keystream):
        def __init__(self, _):
            super().__init__(bytes(16))
            streams.append(self)

    for module in (one_part, one_answer):
        monkeypatch.setattr(module, "Keystream", Counted)
    drawn = set()
    for number, value in enumerate(values):
        streams.clear()
        DiscoveryClient(discovery.to_json(), store=tmp_path / str(number)).report(value, question)
        drawn.add(tuple(stream.drawn for stream in streams))
    assert len(drawn) == 1


def test_a_device_without_the_budget_keeps_nothing_and_answers_later_for_its_new_value(tmp_path):
    with pytest.raises(BudgetError):
        device(tmp_path, most=3.0).report(40_000, QUESTION)
    assert not (tmp_path / "discoveries").exists()
    richer = device(tmp_path, most=4.0)
    assert richer.report(7, QUESTION) is not None
    assert richer.spent == 4.0


class Stopped(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", range(4))
def test_a_device_that_is_stopped_at_any_write_releases_one_report(tmp_path, monkeypatch, call, after):
    """The writes are the answer, and both copies of the record. The value changes after every restart."""
    device(tmp_path)
    real, calls = Path.replace, []

    def replace(self, target):
        calls.append(target)
        stops = len(calls) == call + 1
        if stops and not after:
            raise Stopped
        real(self, target)
        if stops:
            raise Stopped

    released = []
    monkeypatch.setattr(Path, "replace", replace)
    try:
        released.append(device(tmp_path).report(40_000, QUESTION))
    except Stopped:
        assert call < 3  # an answer and two copies of the record
    monkeypatch.setattr(Path, "replace", real)
    wrote = (tmp_path / "discoveries").exists() and any(
        not path.name.startswith(".") for path in (tmp_path / "discoveries").iterdir()
    )
    released += [device(tmp_path).report(value, QUESTION) for value in (7, 65_535)]
    assert len(set(released)) == 1
    cell = ASKED.candidates.indices(DISCOVERY.code.encode([40_000]))
    noise = device(tmp_path)._answers._answer._noise(ASKED.fingerprint, cell.tolist())
    expected = batch.pack(ASKED.plan.fingerprint, ASKED.plan.mechanism.privatize(cell, noise))
    assert (released[0] == expected) == wrote  # what was written before the stop is what is released later
    assert device(tmp_path).spent == 4.0


def test_two_processes_at_once_release_one_report(tmp_path):
    """Both have looked, and seen no answer. The second one to take the lock finds that of the first."""
    one, two = device(tmp_path), device(tmp_path)
    report = one.report(40_000, QUESTION)
    with pytest.MonkeyPatch.context() as patch:
        known, calls = two._answers._answer._known, []
        patch.setattr(
            two._answers._answer,
            "_known",
            lambda asked: (calls.append(1), None if len(calls) == 1 else known(asked))[1],
        )
        assert two.report(7, QUESTION) == report
    assert two.spent == 4.0


def test_another_round_that_asks_the_same_place_gets_no_second_answer(tmp_path):
    client = device(tmp_path)
    client.report(40_000, QUESTION)
    second = DISCOVERY.advance(answered(DISCOVERY, keys(20_000)), FIRST).round
    everybody = Round.make(second.discovery, 1, second.candidates, 4.0, Span(0, PLACES))
    with pytest.raises(PlanMismatchError, match="answers once"):
        client.report(40_000, everybody.to_json())
    assert client.spent == 4.0
