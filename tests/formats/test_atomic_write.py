"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil

import pytest

from localdp.formats.atomic_write import atomic_write, check_writable


def test_a_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "new.txt"
    with atomic_write(path) as temporary:
        temporary.write_text("whole")
        assert temporary.parent == tmp_path
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_only_at_the_end(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text("old")
    with atomic_write(str(path)) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("existed", [False, True])
def test_a_block_that_fails_leaves_the_folder_as_it_was(tmp_path, error, written, existed):
    path = tmp_path / "file.txt"
    if existed:
        path.write_text("old")
    with pytest.raises(error, match="half way"), atomic_write(path) as temporary:  # noqa: PT012
        if written:
            temporary.write_text("half")
        raise error("half way")
    assert [file.read_text() for file in tmp_path.iterdir()] == (["old"] if existed else [])


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
def test_a_disk_that_fails_at_the_end_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(step, fail)
    with pytest.raises(OSError, match="no space left"), atomic_write(path) as temporary:
        temporary.write_text("new")
    monkeypatch.undo()
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"file\.txt"), atomic_write(tmp_path / "file.txt"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_content_is_on_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    steps = []
    sync, move = os.fsync, type(tmp_path).replace
    monkeypatch.setattr("os.fsync", lambda handle: (steps.append("sync"), sync(handle)))
    monkeypatch.setattr(type(tmp_path), "replace", lambda *paths: (steps.append("rename"), move(*paths)))
    with atomic_write(tmp_path / "file.txt") as temporary:
        temporary.write_text("content")
    assert steps == ["sync", "rename", "sync"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_of_the_replaced_file_are_kept(tmp_path, mode):
    path = tmp_path / "file.txt"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path) as temporary:
        temporary.write_text("new")
    assert path.stat().st_mode & 0o777 == mode


def test_a_link_is_followed_and_kept(tmp_path):
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "file.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write(link) as temporary:
        assert temporary.parent == target.parent
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert list((tmp_path / "data").iterdir()) == [target]


def test_a_link_to_nothing_becomes_a_link_to_the_new_file(tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "file.txt")
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "file.txt").read_text() == "new"


def test_an_existing_file_is_refused_without_replace(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(FileExistsError, match="exists already"), atomic_write(path, replace=False):
        pytest.fail("the block must not run")
    assert path.read_text() == "old"
    with atomic_write(tmp_path / "other.txt", replace=False) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "other.txt").read_text() == "new"


def make_fifo(path):
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda path: path.mkdir(), IsADirectoryError, "this is a folder, not a file"),
        pytest.param(
            make_fifo,
            FileExistsError,
            "not a plain file, and would be lost",
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs"),
        ),
    ],
)
def test_a_folder_and_a_fifo_are_refused(tmp_path, make, error, sentence):
    path = tmp_path / "place"
    make(path)
    for refuse in (check_writable, lambda path: atomic_write(path).__enter__()):
        with pytest.raises(error, match=f"{sentence}.*place") as caught:
            refuse(path)
        assert caught.value.errno is not None
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path):
    for folder in (tmp_path / "none", tmp_path / "file.txt"):
        (tmp_path / "file.txt").write_text("not a folder")
        with pytest.raises(FileNotFoundError, match=r"there is no folder to save in.*new\.txt"):
            check_writable(folder / "new.txt")
    shutil.rmtree(tmp_path)


def test_checking_creates_nothing(tmp_path):
    check_writable(tmp_path / "file.txt", replace=False)
    (tmp_path / "file.txt").write_text("old")
    check_writable(tmp_path / "file.txt", replace=True)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
