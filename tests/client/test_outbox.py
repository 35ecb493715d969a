"""Reports wait on the disk until they are delivered, and every attempt sends the same bytes with the same upload id."""

from __future__ import annotations

import errno
import os
import time
from http import HTTPStatus
from pathlib import Path

import pytest

import localdp as ldp
from localdp.client import lock, pauses
from localdp.client.pauses import Pauses
from localdp.errors import InvalidInputError, OutboxFullError, StoreError

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 1.0)
CHAIN = ldp.Plan(["tea", "coffee", "water"], "grr", 2.0, once=0.5)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(pauses, "SHORTEST", 1e-6)
    monkeypatch.setattr(pauses, "LONGEST", 1e-5)


class Server:
    """A function to upload with: keeps what it gets, and answers as it was told."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.seen = []

    def __call__(self, body, upload_id):
        self.seen.append((upload_id, body))
        answer = self.answers.pop(0) if self.answers else 201
        if isinstance(answer, Exception):
            raise answer
        return answer


def _client(store, server, plan=PLAN, **options):
    return ldp.Client(plan, store=store, upload=server, **options)


def test_a_report_is_delivered_and_forgotten(tmp_path):
    server = Server()
    client = _client(tmp_path, server)
    done = client.send("tea")
    assert (done.delivered, done.waiting, done.dropped, done.trouble) == (1, 0, (), "")
    ((upload_id, body),) = server.seen
    assert len(upload_id) == 16
    assert body == client.report("tea")
    assert client.flush().delivered == 0


@pytest.mark.parametrize("plan", [PLAN, CHAIN], ids=["grr", "grr+grr"])
@pytest.mark.parametrize("trouble", [503, 500, 429, 408, 425, 302, 0, OSError("no network"), TimeoutError()], ids=str)
def test_whatever_fails_for_now_is_tried_again_with_the_same_bytes(tmp_path, plan, trouble):
    server = Server(*[trouble] * 20)
    client = _client(tmp_path, server, plan)
    done = client.send("tea")
    assert (done.delivered, done.waiting) == (0, 1)
    assert done.trouble
    done = client.flush(wait=10)
    assert (done.delivered, done.waiting) == (1, 0)
    assert len(server.seen) == 21
    assert len(set(server.seen)) == 1


@pytest.mark.parametrize("status", [400, 409, 410, 413, 415, 422])
def test_what_can_never_succeed_is_dropped_and_said(tmp_path, status):
    server = Server(status)
    done = _client(tmp_path, server).send("tea")
    assert (done.delivered, done.waiting) == (0, 0)
    (sentence,) = done.dropped
    assert sentence == f"a report was dropped, because it can never be delivered: the server answered {status}"
    assert _client(tmp_path, server).flush() == ldp.client.Delivery()


@pytest.mark.parametrize("status", [401, 403, 404, 407, 429])
def test_what_somebody_can_mend_makes_reports_wait(tmp_path, status):
    """A wrong token, a proxy that wants a login and a wrong route say nothing about the report."""
    done = _client(tmp_path, Server(status)).send("tea")
    assert (done.delivered, done.waiting, done.dropped) == (0, 1, ())


def test_a_report_waits_through_a_restart(tmp_path):
    first = Server(OSError("no network"))
    _client(tmp_path, first, CHAIN).send("tea")
    second = Server()
    client = _client(tmp_path, second, CHAIN)
    assert client.waiting == 1
    assert client.flush(wait=5).delivered == 1
    assert second.seen == first.seen


def test_the_outbox_is_bounded_and_a_full_one_spends_nothing(tmp_path):
    client = _client(tmp_path, Server(*[503] * 10), most_waiting=2)
    client.send("tea")
    client.send("tea")
    with pytest.raises(OutboxFullError, match=r"2 reports are waiting.*no more are taken"):
        client.send("coffee")
    assert client.spent == PLAN.mechanism.epsilon
    assert client.flush(wait=5).delivered == 2
    assert client.send("coffee").delivered == 1


def test_a_full_outbox_spends_nothing_in_a_study_either(tmp_path):
    client = _client(tmp_path, Server(*[503] * 10), most_waiting=1)
    client.send("tea")
    study = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "meat"])}, 2.0)
    asked = _client(tmp_path, Server(), study, most_waiting=1)
    with pytest.raises(OutboxFullError, match="1 reports are waiting"):
        asked.send({"diet": "vegan"})
    assert asked.spent == PLAN.mechanism.epsilon
    assert client.flush(wait=5).delivered == 1
    assert asked.send({"diet": "vegan"}).delivered == 1


def test_one_bad_report_does_not_keep_the_others_waiting_for_ever(tmp_path):
    client = _client(tmp_path, lambda *_: 503)
    for _ in range(6):
        client.send("tea")
    bad = []

    def fails_on_the_first_it_sees(_, upload_id):
        bad.append(upload_id) if not bad else None
        return 500 if upload_id == bad[0] else 201

    client = _client(tmp_path, fails_on_the_first_it_sees)
    for _ in range(200):  # the bad one comes first every time with probability 2^-195 or so
        client.flush(wait=0.005)
        if client.waiting == 1:
            break
    assert client.waiting == 1


def test_an_error_of_the_function_itself_is_raised_and_the_report_stays(tmp_path):
    client = _client(tmp_path, Server(KeyError("a mistake")))
    with pytest.raises(KeyError, match="a mistake"):
        client.send("tea")
    assert client.waiting == 1


def test_a_damaged_report_is_not_sent(tmp_path):
    client = _client(tmp_path, Server(503))
    client.send("tea")
    (path,) = tmp_path.glob("outbox/*/*.report")
    data = bytearray(path.read_bytes())
    data[30] ^= 1
    path.write_bytes(bytes(data))
    server = Server()
    done = _client(tmp_path, server).flush(wait=5)
    assert server.seen == []
    assert "its file was damaged, and it was not sent" in done.dropped[0]
    assert client.waiting == 0


def test_two_processes_do_not_send_at_the_same_time(tmp_path):
    client = _client(tmp_path, Server(503))
    client.send("tea")
    (folder,) = tmp_path.glob("outbox/*")
    with lock.locked(folder / "lock", wait=0):
        assert client.flush().waiting == 1
    assert client.flush(wait=5).delivered == 1


def test_a_client_without_an_address_cannot_send(tmp_path):
    client = ldp.Client(PLAN, store=tmp_path)
    for call in (lambda: client.send("tea"), client.flush):
        with pytest.raises(InvalidInputError, match="does not know where to send reports"):
            call()
    assert client.spent == 0
    with pytest.raises(InvalidInputError, match="upload is an address or a function, not int"):
        ldp.Client(PLAN, store=tmp_path, upload=7)


def test_pauses_double_with_some_chance_and_end_with_a_success(tmp_path, monkeypatch):
    monkeypatch.setattr(pauses, "SHORTEST", 1.0)
    monkeypatch.setattr(pauses, "LONGEST", 3600.0)
    waits = Pauses(tmp_path / "pause")
    assert waits.left() == 0
    lengths = [waits.failed(None) for _ in range(20)]
    for failures, length in enumerate(lengths):
        assert min(3600, 2**failures) / 2 <= length <= min(3600, 2**failures)
    assert len(set(lengths)) == 20
    assert 0 < Pauses(tmp_path / "pause").left() <= lengths[-1]
    waits.succeeded()
    assert waits.left() == 0
    assert waits.failed(None) <= 1


def test_a_server_is_left_alone_as_long_as_it_asks(tmp_path):
    waits = Pauses(tmp_path / "pause")
    assert 100 <= waits.failed(100.0) <= 125
    assert waits.failed(1e9) <= 1.25 * pauses.LONGEST_ASKED
    assert waits.failed(-5.0) < 1


def test_a_clock_that_goes_back_ends_a_pause(tmp_path, monkeypatch):
    now = 1_000_000.0
    monkeypatch.setattr(pauses.time, "time", lambda: now)
    waits = Pauses(tmp_path / "pause")
    length = waits.failed(60.0)
    assert waits.left() == pytest.approx(length)
    now += 30
    assert waits.left() == pytest.approx(length - 30)
    now -= 86_400
    assert waits.left() == 0
    now += 2 * 86_400
    assert waits.left() == 0


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100])
def test_a_pause_that_cannot_be_read_is_over(tmp_path, content):
    (tmp_path / "pause").write_bytes(content)
    assert Pauses(tmp_path / "pause").left() == 0


def test_a_report_that_cannot_be_kept_is_not_sent(tmp_path, monkeypatch):
    server = Server()
    client = _client(tmp_path, server)
    client.report("tea")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        client.send("tea")
    assert server.seen == []
    monkeypatch.undo()
    assert client.send("tea").delivered == 1


def test_a_success_ends_the_doubling_of_pauses(tmp_path):
    client = _client(tmp_path, Server(503, 503, 503, 201))
    client.send("tea")
    (pause,) = tmp_path.glob("outbox/*/pause")
    assert client.flush(wait=5).delivered == 1
    assert not pause.exists()


@pytest.mark.parametrize("answer", [True, False, 1, 99, 600, -1, 201.0, "201", b"", ["201"]], ids=repr)
def test_an_answer_that_means_nothing_is_a_mistake_and_the_report_stays(tmp_path, answer):
    client = _client(tmp_path, Server(answer))
    with pytest.raises(InvalidInputError, match=r"returns None if the report was delivered, or a status.* is kept"):
        client.send("tea")
    assert client.waiting == 1
    assert client.flush(wait=5).delivered == 1


def test_a_status_may_be_a_name_of_the_standard_library(tmp_path):
    assert _client(tmp_path, Server(HTTPStatus.CREATED)).send("tea").delivered == 1


@pytest.mark.parametrize("call", ["open", "replace", "unlink"])
def test_a_pause_that_cannot_be_written_is_no_trouble_and_holds_in_this_process(tmp_path, monkeypatch, call):
    monkeypatch.setattr(pauses, "SHORTEST", 100.0)
    monkeypatch.setattr(pauses, "LONGEST", 100.0)
    server = Server(503)
    client = _client(tmp_path, server)
    real = getattr(os, call)

    def failing(path, *args, **kwargs):
        if Path(path).name.lstrip(".").startswith("pause"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, call, failing)
    done = client.send("tea")
    assert (done.delivered, done.waiting, done.trouble) == (0, 1, "the server answered 503")
    assert done.pause > 40
    assert client.flush().pause > 40
    assert len(server.seen) == 1
    client._post._outbox._own.pauses.succeeded()


def test_a_pause_that_cannot_be_read_at_all_is_over(tmp_path):
    (tmp_path / "pause").mkdir()
    assert Pauses(tmp_path / "pause").left() == 0
    Pauses(tmp_path / "pause").succeeded()


def test_one_file_that_cannot_be_read_does_not_hold_up_the_others(tmp_path, monkeypatch):
    client = _client(tmp_path, Server(503, 503, 503))
    for _ in range(3):
        client.send("tea")
    bad = next(tmp_path.glob("outbox/*/*.report"))
    real = os.open

    def failing(path, *args, **kwargs):
        if path == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", failing)
    done = client.flush(wait=0.2)
    assert (done.delivered, done.waiting, done.dropped) == (2, 1, ())
    assert "a report cannot be read: Input/output error" in done.trouble
    monkeypatch.undo()
    assert client.flush(wait=5).delivered == 1


def test_a_delivered_report_whose_file_stays_is_sent_again_with_the_same_id(tmp_path, monkeypatch):
    server = Server(201, 200)
    client = _client(tmp_path, server)
    real = os.unlink

    def failing(path, *args, **kwargs):
        if str(path).endswith(".report"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        real(path, *args, **kwargs)

    monkeypatch.setattr(os, "unlink", failing)
    done = client.send("tea")
    assert (done.delivered, done.waiting) == (1, 1)
    assert "its file cannot be removed (Read-only file system), so it will be sent again" in done.trouble
    monkeypatch.undo()
    assert client.flush(wait=5).waiting == 0
    assert len(server.seen) == 2
    assert len(set(server.seen)) == 1


def test_a_slow_server_does_not_hold_send_until_everything_is_sent(tmp_path, monkeypatch):
    client = _client(tmp_path, lambda *_: 503)
    for _ in range(3):
        client.send("tea")
    monkeypatch.setattr("localdp.client.permanent.LONGEST_SEND", 0.0)
    slow = _client(tmp_path, lambda *_: time.sleep(0.02))
    done = slow.send("tea")
    assert done.delivered <= 1
    assert done.waiting >= 3
    assert slow.flush().waiting == 0


def test_what_killed_writers_left_is_removed(tmp_path):
    client = _client(tmp_path, lambda *_: 503)
    client.send("tea")
    (folder,) = tmp_path.glob("outbox/*")
    left = [folder / f".{name}.0123456789abcdef" for name in (f"{'ab' * 16}.report", "address", "pause")]
    for path in left:
        path.touch()
    client.send("tea")
    assert not [path for path in left if path.exists()]
    assert client.waiting == 2
