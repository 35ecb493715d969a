"""The store of a device survives damage, full disks and other processes, and fails closed where it cannot."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

import localdp as ldp
from localdp.client import lock
from localdp.client import store as store_file
from localdp.client.budget import Budget
from localdp.client.diary import Diary
from localdp.client.record import Record
from localdp.client.store import Store
from localdp.errors import BudgetError, InvalidInputError, StoreError

PLAN = ldp.Plan(100, "grr", 0.5)
COPIES = ("device", "device.copy")


@pytest.fixture
def store(tmp_path):
    """The store of a device that has reported 3 and 4."""
    client = ldp.Client(PLAN, store=tmp_path / "store")
    client.report(3)
    client.report(4)
    return tmp_path / "store"


def _client(store, most=8.0):
    return ldp.Client(PLAN, store=store, most=most)


def test_a_record_is_read_back_and_any_damage_is_noticed():
    record = Record.new().with_payment(b"d" * 16, 0.5).with_payment(b"e" * 16, 1.0)
    data = record.to_bytes()
    assert data[:8] == b"LDPDEV1\n"
    assert len(data) == 52 + 2 * 24 + 32
    assert Record.from_bytes(data) == record
    assert record.generation == 3
    for place in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        assert Record.from_bytes(bytes(damaged)) is None
    for length in range(len(data)):
        assert Record.from_bytes(data[:length]) is None
    assert Record.from_bytes(data + b"\0") is None


def test_no_value_is_written_and_only_the_owner_can_read(tmp_path):
    plan = ldp.Plan(["tuberculosis", "measles"], "grr", 1.0)
    client = ldp.Client(plan, store=tmp_path / "new" / "store", upload=lambda *_: 503)
    client.send("tuberculosis")
    files = [path for path in (tmp_path / "new" / "store").rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        assert b"tuberculosis" not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE((tmp_path / "new" / "store").stat().st_mode) == 0o700


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("damage", ["flipped", "empty", "short", "missing", "old"])
def test_one_bad_copy_is_repaired(store, name, damage):
    before, report = _client(store).spent, _client(store).report(3)
    path = store / name
    data = bytearray(path.read_bytes())
    data[60] ^= 4
    old = Record(1, Record.from_bytes(path.read_bytes()).secret, {}).to_bytes()
    contents = {"flipped": bytes(data), "empty": b"", "short": path.read_bytes()[:-1], "old": old}
    path.unlink() if damage == "missing" else path.write_bytes(contents[damage])
    client = _client(store)
    assert client.spent == before == 2 * PLAN.mechanism.epsilon
    assert client.report(3) == report
    assert (store / "device").read_bytes() == (store / "device.copy").read_bytes()


@pytest.mark.parametrize("first", [b"", b"something else", None])
def test_two_bad_copies_fail_closed(store, first):
    running = _client(store)
    (store / "device").unlink() if first is None else (store / "device").write_bytes(first)
    (store / "device.copy").write_bytes(b"")
    with pytest.raises(StoreError, match=r"neither of its two copies can be read.*it reports nothing"):
        _client(store)
    with pytest.raises(StoreError, match="neither of its two copies can be read"):
        running.report(5)
    with pytest.raises(StoreError, match="neither of its two copies can be read"):
        _ = running.spent


@pytest.mark.parametrize("generation", [1, 3, 99])
def test_of_two_good_copies_every_payment_counts(store, generation):
    """After a partial restore from a backup, each copy may hold payments that the other one lacks."""
    record = Record.from_bytes((store / "device").read_bytes())
    dearer = dict.fromkeys([*record.paid][:1], 0.75)
    (store / "device").write_bytes(Record(generation, record.secret, {b"x" * 16: 1.0, **dearer}).to_bytes())
    running = _client(store)
    assert running.spent == pytest.approx(0.75 + 0.5 + 1.0, abs=1e-9)
    copies = [Record.from_bytes((store / name).read_bytes()) for name in COPIES]
    assert copies[0] == copies[1]
    assert copies[0].paid == {**record.paid, b"x" * 16: 1.0, **dearer}
    assert copies[0].generation > max(generation, record.generation)
    running.report(3)
    assert running.spent == pytest.approx(0.75 + 0.5 + 1.0, abs=1e-9)


def test_two_copies_of_different_devices_fail_closed(store):
    (store / "device").write_bytes(Record(99, bytes(32), {}).to_bytes())
    with pytest.raises(StoreError, match="its two copies contradict each other"):
        _client(store)


def test_a_lost_store_is_a_new_device(store):
    reports = {_client(store).report(value) for value in range(3, 5)}
    shutil.rmtree(store)
    assert _client(store).spent == 0
    secrets = set()
    for _ in range(3):
        shutil.rmtree(store)
        secrets.add(_client(store)._store.secret)
    assert len(secrets) == 3
    assert reports


def test_a_store_that_is_removed_or_replaced_in_use_is_noticed(store):
    client = _client(store)
    shutil.rmtree(store)
    with pytest.raises(StoreError, match=r"cannot be written|was removed while it was in use"):
        client.report(5)
    store.mkdir()
    with pytest.raises(StoreError, match="was removed while it was in use"):
        client.report(5)
    _client(store)
    with pytest.raises(StoreError, match="was replaced by that of another device"):
        client.report(5)


def test_a_file_in_the_way_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file cannot be opened: File exists"):
        _client(tmp_path / "file")


WRITES = ("open", "write", "fsync", "replace")


def _failing(monkeypatch, call, after, code):
    """Let the given call of the operating system fail with this code, from the `after`-th time on."""
    real, calls = getattr(os, call), 0

    def failing(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)

    monkeypatch.setattr(os, call, failing)


@pytest.mark.parametrize(
    ("code", "call", "after"),
    [
        *((errno.ENOSPC, call, after) for call in WRITES for after in range(4)),
        *((code, call, 0) for code in (errno.EROFS, errno.EIO) for call in WRITES),
    ],
)
def test_whatever_cannot_be_written_releases_nothing_and_loses_nothing(store, monkeypatch, code, call, after):
    client, spent = _client(store), _client(store).spent
    old = client.report(3)
    with monkeypatch.context() as failing:
        _failing(failing, call, after, code)
        said = ""
        try:
            client.report(5)
        except StoreError as error:
            said = str(error)
        assert client.report(3) == old  # a value that was paid for needs no disk
    released = not said  # it failed too late to matter: this call is made less often than that
    assert released or (os.strerror(code) in said and "nothing was released" in said)
    again = _client(store)
    assert again.spent >= spent + (PLAN.mechanism.epsilon if released else 0)
    assert again.spent <= spent + PLAN.mechanism.epsilon
    again.report(5)
    assert again.spent == spent + PLAN.mechanism.epsilon
    assert not list(store.glob(".device*"))


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(store, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:5]))
    client = _client(store)
    client.report(5)
    assert client.spent == 3 * PLAN.mechanism.epsilon


def test_a_read_only_store_answers_what_was_paid_for(store, monkeypatch):
    reports = [_client(store).report(value) for value in (3, 4)]
    real = os.open

    def read_only(path, flags, *args, **kwargs):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    client = _client(store)
    assert [client.report(value) for value in (3, 4)] == reports
    with pytest.raises(StoreError, match="cannot be written: Read-only file system; nothing was released"):
        client.report(5)
    with pytest.raises(StoreError, match="cannot be opened: Read-only file system"):
        _client(store / "new")


def test_a_store_that_is_locked_for_too_long_is_explained(store, monkeypatch):
    monkeypatch.setattr(lock, "LONGEST_WAIT", 0.05)
    client = _client(store)
    with lock.locked(store / "lock", wait=1) as acquired:
        assert acquired
        with lock.locked(store / "lock", wait=0) as second:
            assert not second
        with pytest.raises(StoreError, match=r"another process has held the lock.*nothing was released"):
            client.report(5)
    client.report(5)


def test_a_system_without_locks_is_refused(store, monkeypatch):
    monkeypatch.setattr(lock, "_AVAILABLE", False)
    with pytest.raises(StoreError, match="this system has no file locks"):
        _client(store).report(5)


def _spend(store, values, most, results):
    client = ldp.Client(PLAN, store=store, most=most)
    released = []
    for value in values:
        try:
            released.append((value, client.report(value)))
        except BudgetError:
            break
    results.put(released)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("most", [1000.0, 5.0])
def test_processes_neither_lose_spending_nor_spend_twice(tmp_path, most):
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    results = context.SimpleQueue()
    shares = [range(15), range(10, 25), range(15, 0, -1)]
    processes = [context.Process(target=_spend, args=(tmp_path / "store", list(s), most, results)) for s in shares]
    for process in processes:
        process.start()
    released = [pair for _ in processes for pair in results.get()]
    for process in processes:
        process.join()
    different = {value for value, _ in released}
    assert len(set(released)) == len(different)  # all processes are one device, with one response to a value
    assert _client(tmp_path / "store").spent == pytest.approx(len(different) * PLAN.mechanism.epsilon, abs=1e-9)
    assert len(different) == (25 if most > 100 else 10)


def test_a_store_of_the_same_device_is_found_by_another_path(store, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store("~/store").secret == Store(store).secret


def test_threads_of_one_client_neither_lose_spending_nor_spend_twice(tmp_path):
    client = _client(tmp_path / "store", most=4.0)

    def report(value):
        try:
            return value, client.report(value)
        except BudgetError:
            return None

    with ThreadPoolExecutor(4) as pool:
        released = {pair for pair in pool.map(report, [*range(12), *range(12)]) if pair}
    assert len(released) == len({value for value, _ in released}) == 8
    assert client.spent == 8 * PLAN.mechanism.epsilon


def test_nothing_is_released_before_both_copies_hold_its_payment(store, monkeypatch):
    """The second copy could not be written once. The next report of the same value writes it first."""
    client = _client(store, most=1.5)
    write = store_file.write_private

    def full(path, data):
        if path.name == "device":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(store_file, "write_private", full)
    with pytest.raises(StoreError, match="nothing was released"):
        client.report(5)
    monkeypatch.setattr(store_file, "write_private", write)
    client.report(5)
    (store / "device.copy").write_bytes(b"damaged")
    again = _client(store, most=1.5)
    assert again.spent == pytest.approx(1.5, abs=1e-9)
    with pytest.raises(BudgetError, match="reports no new values"):
        again.report(6)


def test_a_client_that_opens_a_half_written_store_pays_before_it_releases(store):
    """Another process died between the two copies: its payment counts only once it is in both."""
    old = (store / "device").read_bytes()
    _client(store).report(5)
    (store / "device").write_bytes(old)
    budget = Budget(Store(store), 8.0, Diary(Store(store)))
    assert (store / "device").read_bytes() == (store / "device.copy").read_bytes()
    assert len(budget._paid) == 3


def test_a_payment_whose_writer_failed_late_is_flushed_before_it_is_trusted(store, monkeypatch):
    """Both copies were renamed, and flushing the second name failed: the payment may not outlive a power cut yet."""
    client = _client(store)
    real, calls = os.fsync, []

    def fourth_fails(handle):
        calls.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        if len(calls) == 4:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    monkeypatch.setattr(os, "fsync", fourth_fails)
    with pytest.raises(StoreError, match="Input/output error; nothing was released"):
        client.report(5)
    assert calls == [False, True, False, True]
    assert (store / "device").read_bytes() == (store / "device.copy").read_bytes()
    client.report(5)
    assert calls[4:] == [True]
    Store(store)
    assert calls[5:] == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(tmp_path):
    reading, writing = os.pipe()
    with lock.locked(tmp_path / "lock", wait=0) as acquired:
        assert acquired
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent is done
            os._exit(0)
    try:
        with lock.locked(tmp_path / "lock", wait=0) as again:
            assert again
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


@pytest.mark.parametrize("path", ["", None, 7, b"folder"], ids=repr)
def test_a_store_is_a_path(path):
    with pytest.raises(InvalidInputError, match="store, the folder of a device, is a path such as"):
        Store(path)


def test_the_home_of_nobody_is_explained():
    with pytest.raises(StoreError, match="cannot be found: Could not determine home"):
        Store("~no-such-user-here/store")
