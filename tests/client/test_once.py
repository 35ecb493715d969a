"""A device answers once, or once in a period: whatever is called again, killed or changed, one report arrives."""

from __future__ import annotations

import calendar

import pytest

import localdp as ldp
from localdp.client import periods
from localdp.client.private_files import write_private
from localdp.errors import BudgetError, InvalidInputError, OptedOutError, StoreError, UnknownItemError

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 1.0)
EPSILON = PLAN.mechanism.epsilon
DAY = 86_400


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands at noon of Wednesday, 18 November 2026, and can be set."""

    class Clock:
        now = calendar.timegm((2026, 11, 18, 12, 0, 0))

    monkeypatch.setattr("time.time", lambda: Clock.now)
    return Clock


class Server:
    def __init__(self, *answers):
        self.seen, self.answers = [], list(answers)

    def __call__(self, body, upload_id):
        self.seen.append((upload_id, body))
        return self.answers.pop(0) if self.answers else None


def test_calling_again_with_any_value_sends_one_report_and_pays_once(tmp_path):
    server = Server()
    assert not ldp.Client(PLAN, store=tmp_path).answered()
    for value in ("tea", "tea", "coffee", "water"):
        client = ldp.Client(PLAN, store=tmp_path, upload=server)
        client.send_once(value)
        assert client.answered()
    assert [body for _, body in server.seen] == [client.report("tea")]
    assert client.spent == EPSILON
    with pytest.raises(UnknownItemError):
        client.send_once("milk")


@pytest.mark.parametrize("later", ["tea", "coffee"])
def test_when_a_device_sends_does_not_depend_on_its_value(tmp_path, clock, later):
    server = Server()
    client = ldp.Client(PLAN, store=tmp_path, upload=server)
    days = []
    for day in range(21):
        client.send_once("tea" if day < 4 else later, every="week")
        if len(server.seen) > len(days):
            days.append(day)
        clock.now += DAY
    assert days == [0, 5, 12, 19]  # the day it began, and then every Monday
    assert client.spent == pytest.approx(EPSILON * (1 + (later == "coffee")))


def test_at_the_cap_a_device_repeats_its_last_answer(tmp_path, clock):
    server = Server()
    client = ldp.Client(PLAN, store=tmp_path, upload=server, most=1.5)
    for value in ("tea", "coffee", "water"):
        client.send_once(value, every="week")
        clock.now += 7 * DAY
    assert {body for _, body in server.seen} == {client.report("tea")}
    assert len({upload_id for upload_id, _ in server.seen}) == 3
    with pytest.raises(BudgetError):
        ldp.Client(PLAN, store=tmp_path / "new", upload=server, most=0.5).send_once("tea")


def test_a_device_that_fails_at_any_write_sends_one_report(tmp_path, monkeypatch):
    for turn in range(40):
        server, calls = Server(), iter(range(1_000))

        def failing(*args, calls=calls, turn=turn, **options):
            if next(calls) == turn:
                raise OSError("no space left")
            write_private(*args, **options)

        folder = tmp_path / str(turn)
        with monkeypatch.context() as broken:
            for module in ("store", "diary", "plan_outbox"):
                broken.setattr(f"localdp.client.{module}.write_private", failing)
            try:
                ldp.Client(PLAN, store=folder, upload=server).send_once("tea")
                done = next(calls) <= turn
            except StoreError:
                done = False
        for value in ("coffee", "water"):
            ldp.Client(PLAN, store=folder, upload=server).send_once(value)
        assert len(set(server.seen)) == 1, turn
        if done:
            return
    raise AssertionError("it never came to its end")


def test_a_damaged_diary_fails_closed(tmp_path):
    server = Server()
    ldp.Client(PLAN, store=tmp_path, upload=server).send_once("tea")
    whole = (tmp_path / "diary").read_bytes()
    for place in range(0, len(whole), 5):
        bad = bytearray(whole)
        bad[place] ^= 1
        (tmp_path / "diary").write_bytes(bad)
        with pytest.raises(StoreError, match="damaged"):
            ldp.Client(PLAN, store=tmp_path, upload=server).send_once("tea")
    assert len(server.seen) == 1


def test_forget_removes_what_waits_and_keeps_payments_and_marks(tmp_path):
    server = Server(503)
    client = ldp.Client(PLAN, store=tmp_path, upload=server, title="Drinks")
    assert client.send_once("tea").waiting == 1
    client.forget()
    assert (client.waiting, client.answered(), client.spent) == (0, True, EPSILON)
    (told,) = client.learnt()["answers"]
    assert (told["title"], told["epsilon"]) == ("Drinks", EPSILON)
    ldp.Client(PLAN, store=tmp_path, upload=server).send_once("coffee")
    assert len(server.seen) == 1
    diary = (tmp_path / "diary").read_bytes()
    assert not any(name in diary for name in (b'"last"', b'"id"'))


def test_a_study_that_was_forgotten_is_not_answered_again(tmp_path):
    study = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "meat"])}, 2.0)
    server = Server(503)
    client = ldp.Client(study, store=tmp_path, upload=server)
    client.send_once({"diet": "vegan"})
    client.forget()
    assert client.answered()
    assert ldp.Client(study, store=tmp_path, upload=server).send_once({"diet": "meat"}).waiting == 0
    assert len(server.seen) == 1
    with pytest.raises(InvalidInputError, match="once"):
        client.send_once({"diet": "meat"}, every="week")


def test_an_opt_out_is_remembered_for_every_plan(tmp_path):
    server = Server()
    ldp.Client(PLAN, store=tmp_path, upload=server).opt_out()
    other = ldp.Client(ldp.Plan(5, "oue", 1.0), store=tmp_path, upload=server)
    assert not other.send(1).asked
    assert not other.send_once(1).asked
    with pytest.raises(OptedOutError):
        other.report(1)
    assert (other.spent, server.seen) == (0, [])
    other.opt_in()
    assert other.send_once(1).delivered == 1


def test_a_cap_for_every_year(tmp_path, clock):
    def client():
        return ldp.Client(PLAN, store=tmp_path, most=1.5, most_every="year")

    client().report("tea")
    with pytest.raises(BudgetError, match="in this year"):
        client().report("coffee")
    clock.now = calendar.timegm((2027, 1, 1, 0, 0, 0))
    client().report("coffee")
    assert client().learnt()["left"] == pytest.approx(1.5 - EPSILON)
    clock.now -= 40 * DAY
    with pytest.raises(BudgetError):
        client().report("water")


def test_periods_are_those_of_javascript(clock):
    assert [periods.period_of(every) for every in periods.EVERY] == [20_775, 2_968, 24_322, 2_026]
    assert not periods.is_over("week", clock.now + 6 * DAY)
    assert periods.is_over("week", clock.now + 400 * DAY)
    with pytest.raises(InvalidInputError):
        periods.period_of("fortnight")


FORM = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "meat"])}, 2.0)
OTHER_FORM = ldp.Questionnaire({"size": ldp.Choice(["S", "M", "L"])}, 2.0)


@pytest.mark.parametrize(("asked", "value"), [(PLAN, "tea"), (FORM, {"diet": "vegan"})], ids=["plan", "study"])
def test_an_answer_that_is_not_in_the_outbox_was_not_given(tmp_path, monkeypatch, asked, value):
    server = Server()
    with monkeypatch.context() as broken:
        broken.setattr("localdp.client.plan_outbox.write_private", _no_space)
        with pytest.raises(StoreError):
            ldp.Client(asked, store=tmp_path, upload=server).send_once(value)
    client = ldp.Client(asked, store=tmp_path, upload=server)
    assert not client.answered()
    client.send_once(value)
    assert client.answered()
    assert len(server.seen) == 1
    assert client.spent == client.epsilon


def _no_space(*_, **__):
    raise OSError("no space left")


def _bytes_below(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_forget_removes_the_answers_in_other_studies_too(tmp_path):
    reports = []
    for form, value in ((FORM, {"diet": "vegan"}), (OTHER_FORM, {"size": "M"})):
        client = ldp.Client(form, store=tmp_path, upload=Server(503))
        client.send_once(value)
        reports.append(client.report(value))
    left = tmp_path / "studies" / f".{FORM.fingerprint[:32]}.0123456789abcdef"  # of a process that was killed
    left.write_bytes(reports[0])
    assert all(report in _bytes_below(tmp_path) for report in reports)
    ldp.Client(PLAN, store=tmp_path).forget()
    assert not any(report in _bytes_below(tmp_path) for report in reports)
    for form, value in ((FORM, {"diet": "meat"}), (OTHER_FORM, {"size": "L"})):
        server = Server()
        client = ldp.Client(form, store=tmp_path, upload=server)
        assert client.answered()
        client.send_once(value)
        assert server.seen == []
    assert client.spent == FORM.epsilon + OTHER_FORM.epsilon


def test_an_answer_that_is_forgotten_while_it_is_made_is_not_sent(tmp_path, monkeypatch):
    server = Server()
    client = ldp.Client(PLAN, store=tmp_path, upload=server)
    made = client._answers._made_once

    def made_and_forgotten(*args):
        answer = made(*args)
        ldp.Client(PLAN, store=tmp_path).forget()
        return answer

    monkeypatch.setattr(client._answers, "_made_once", made_and_forgotten)
    client.send_once("tea")
    assert server.seen == []
    assert client.answered()


def test_what_was_sent_without_once_is_told_to_the_owner(tmp_path, clock):
    other = ldp.Plan(5, "oue", 1.0)
    ldp.Client(PLAN, store=tmp_path, upload=Server(), title="Drinks").send("tea")
    asked = ldp.Client(other, store=tmp_path, upload=Server(), title="Numbers")
    asked.send_once(1)
    clock.now += DAY
    asked.send(1)
    told = {answer["fingerprint"]: (answer["title"], answer["at"]) for answer in asked.learnt()["answers"]}
    assert told == {PLAN.fingerprint: ("Drinks", clock.now - DAY), other.fingerprint: ("Numbers", clock.now)}
    assert not ldp.Client(PLAN, store=tmp_path).answered()  # `send` is not `send_once`


def test_the_record_of_what_was_sent_is_written_once_a_day(tmp_path):
    client = ldp.Client(PLAN, store=tmp_path, upload=Server())
    client.send("tea")
    written = (tmp_path / "diary").stat().st_ino
    client.send("tea")
    assert (tmp_path / "diary").stat().st_ino == written


def test_what_another_process_puts_after_an_opt_out_is_not_sent(tmp_path):
    server = Server()
    client = ldp.Client(PLAN, store=tmp_path, upload=server)
    report = client.report("tea")
    with client._store.locked():
        client._post.put(report, PLAN.fingerprint)
    ldp.Client(PLAN, store=tmp_path)._choose(out=True)  # as an opt-out that has just been written
    assert client.flush().delivered == 0
    assert (client.waiting, server.seen) == (0, [])


@pytest.mark.parametrize(("asked", "value"), [(PLAN, "tea"), (FORM, {"diet": "vegan"})], ids=["plan", "study"])
def test_of_an_answer_that_is_made_while_its_owner_opts_out_nothing_is_sent_or_kept(tmp_path, asked, value):
    server = Server()
    report = ldp.Client(asked, store=tmp_path).report(value)
    ldp.Client(asked, store=tmp_path).forget()
    client = ldp.Client(asked, store=tmp_path / "other", upload=server)
    pay = client._budget.pay

    def opted_out_before_that(*args, **options):
        ldp.Client(PLAN, store=tmp_path / "other").opt_out()
        pay(*args, **options)

    client._budget.pay = opted_out_before_that
    client.send_once(value)
    assert server.seen == []
    assert client.opted_out
    kept = _bytes_below(tmp_path / "other")
    assert b"last" not in kept
    assert b"body" not in kept
    assert report[:20] not in kept  # the beginning of every batch under this plan
