"""Only the owner can read or change a store, and what cannot be read is never taken for missing."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

import localdp as ldp
from localdp.client import pauses, private_files
from localdp.client.store import KEPT, Store
from localdp.errors import StoreError
from localdp.sets import Survey
from localdp.sets.device import SurveyClient

PLAN = ldp.Plan(100, "grr", 0.5)

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no permissions of this kind")


@pytest.fixture
def store(tmp_path):
    """The store of a device that has reported 3, and has a report waiting."""
    _client(tmp_path / "store").send(3)
    return tmp_path / "store"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(pauses, "SHORTEST", 1e-6)
    monkeypatch.setattr(pauses, "LONGEST", 1e-5)


def _client(store, upload=lambda *_: 503):
    return ldp.Client(PLAN, store=store, upload=upload)


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_private_whatever_they_were_before(store):
    everything = list(store.rglob("*"))
    assert {path.name for path in everything} >= {"device", "device.copy", "lock", "outbox", "pause"}
    for path in everything:
        path.chmod(0o777 if path.is_dir() else 0o666)
    store.chmod(0o755)
    old = os.umask(0)
    try:
        client = _client(store)
        client.report(4)
        client.flush()
        client.send(5)
    finally:
        os.umask(old)
    for path in store.rglob("*"):
        assert _mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert _mode(store) == 0o700


def test_a_folder_with_other_files_keeps_its_permissions(store):
    (store / "page.html").write_text("hello")
    store.chmod(0o755)
    _client(store).report(4)
    assert _mode(store) == 0o755
    assert _mode(store / "device") == 0o600


def test_an_empty_folder_that_others_can_read_becomes_private(tmp_path):
    """Otherwise the size and the time of the record tell how many values were paid for, and when."""
    tmp_path.chmod(0o755)
    _client(tmp_path).report(4)
    assert _mode(tmp_path) == 0o700


def test_a_copy_that_is_only_read_becomes_private_too(store):
    (store / "device").chmod(0o644)
    _client(store)
    assert _mode(store / "device") == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_store_that_others_can_write_to_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    with pytest.raises(StoreError, match=rf"other users may write to the store {tmp_path}.*chmod go-w {tmp_path}"):
        _client(tmp_path)
    assert not list(tmp_path.iterdir())
    tmp_path.chmod(0o700)
    _client(tmp_path)


def test_a_store_of_another_user_is_refused(store, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: store.stat().st_uid + 1)
    with pytest.raises(StoreError, match=r"belongs to another user .*run the program as that user, choose another"):
        _client(store)


@pytest.mark.parametrize("left", [("lock",), ("outbox",), ("lock", "outbox")])
def test_a_used_folder_without_its_record_is_not_a_new_device(store, left):
    for path in list(store.iterdir()):
        if path.name not in left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"was used before, and both copies of its record are gone"):
            _client(store)


@pytest.mark.parametrize("kept", ["surveys", "discoveries", "outbox", "device.7", f"outbox-{'0' * 16}.1"])
def test_every_leftover_of_a_device_is_refused(tmp_path, kept):
    """The last two are what the store of the JavaScript client keeps in a folder."""
    (tmp_path / kept).mkdir()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"was used before, and both copies of its record are gone"):
            _client(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name != "lock"] == [kept]


def test_a_device_that_answered_a_survey_is_not_made_anew(tmp_path):
    survey = Survey(["tea", "milk", "bread"], epsilon=2.0, users=10_000)
    folder = next(
        folder
        for folder in (tmp_path / str(number) for number in range(100))
        if SurveyClient(survey.to_json(), store=folder).report(["tea"], survey.round.to_json())
    )
    for name in ("device", "device.copy", "lock"):
        (folder / name).unlink()
    with pytest.raises(StoreError, match="was used before"):
        SurveyClient(survey.to_json(), store=folder)


def test_a_draft_of_a_record_with_payments_is_a_leftover_too(store):
    """It was written by a process that was killed, over a record that had been there before."""
    paid = (store / "device").read_bytes()
    for path in list(store.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (store / ".device.0123456789abcdef").write_bytes(paid)
    with pytest.raises(StoreError, match="was used before"):
        _client(store)


def test_what_a_store_keeps_is_on_the_list_that_is_looked_for(tmp_path):
    opened = Store(tmp_path)
    for name in KEPT:
        assert opened.kept(name) == tmp_path / name
    with pytest.raises(ValueError, match="notes"):
        opened.kept("notes")


@pytest.mark.parametrize("name", ["device", "device.copy"])
def test_a_file_of_another_user_is_refused(store, monkeypatch, name):
    """It may have been put there while others could write to the folder."""
    real = os.fstat

    def of_another(handle):
        found = real(handle)
        planted = found.st_ino == (store / name).stat().st_ino
        return os.stat_result((*found[:4], found.st_uid + planted, *found[5:]))

    monkeypatch.setattr(os, "fstat", of_another)
    with pytest.raises(StoreError, match=rf"{name} belongs to another user"):
        _client(store)


@pytest.mark.parametrize(
    "found", [(), ("lock",), ("lock", ".device.copy.00"), ("something of somebody else",), ("devices",)]
)
def test_a_folder_in_which_nothing_was_reported_is_a_new_device(tmp_path, found):
    """A process that was killed before it wrote the first record leaves an empty lock."""
    for name in found:
        (tmp_path / name).touch()
    assert _client(tmp_path).spent == 0
    (tmp_path / "device").unlink()
    (tmp_path / "device.copy").unlink()
    with pytest.raises(StoreError, match="was used before"):
        _client(tmp_path)


def test_a_folder_is_marked_as_used_before_a_payment_is_written(store, monkeypatch):
    """Otherwise a process that is killed in between would leave a payment in a folder that seems unused."""
    (store / "lock").write_bytes(b"")

    def killed(*_):
        raise KeyboardInterrupt("killed")

    client = _client(store)
    monkeypatch.setattr("localdp.client.store.write_private", killed)
    with pytest.raises(KeyboardInterrupt, match="killed"):
        client.report(4)
    assert (store / "lock").read_bytes()


def _unreadable(monkeypatch, name, code):
    """Let every attempt to open or list something with this name fail."""
    for module, call in ((os, "open"), (os, "listdir"), (os, "scandir")):
        real = getattr(module, call)

        def failing(path, *args, real=real, **kwargs):
            if Path(path).name == name:
                raise OSError(code, os.strerror(code))
            return real(path, *args, **kwargs)

        monkeypatch.setattr(module, call, failing)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ELOOP, errno.ENOTDIR])
@pytest.mark.parametrize("name", ["device", "device.copy", "lock"])
def test_what_cannot_be_read_is_not_taken_for_missing(store, monkeypatch, name, code):
    before = (store / "device").read_bytes()
    with monkeypatch.context() as failing:
        _unreadable(failing, name, code)
        with pytest.raises(StoreError, match=f"{os.strerror(code)}; nothing was released"):
            _client(store).report(4)
    assert (store / "device").read_bytes() == (store / "device.copy").read_bytes() == before


def test_an_outbox_that_cannot_be_listed_is_not_an_empty_one(store, monkeypatch):
    client, spent = _client(store), _client(store).spent
    _unreadable(monkeypatch, "outbox", errno.EACCES)
    with pytest.raises(StoreError, match="cannot be read: Permission denied; nothing was released"):
        client.send(4)
    assert client.spent == spent
    with pytest.raises(
        StoreError, match="cannot be read: Permission denied; reports that were not delivered are still"
    ):
        _ = client.waiting
    with pytest.raises(
        StoreError, match="used to send reports: Permission denied; reports that were not delivered are"
    ):
        client.flush()


def test_names_and_content_know_missing_from_unreadable(tmp_path, monkeypatch):
    assert private_files.content(tmp_path / "nothing") is None
    assert private_files.names(tmp_path / "nothing") == []
    (tmp_path / "file").touch()
    assert private_files.content(tmp_path / "file") == b""
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        private_files.content(tmp_path / "file" / "below")
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        private_files.content(tmp_path)
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        private_files.make_private(tmp_path / "file" / "below")
    _unreadable(monkeypatch, "file", errno.EACCES)
    with pytest.raises(PermissionError, match="Permission denied"):
        private_files.content(tmp_path / "file")
