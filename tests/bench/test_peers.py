"""Other libraries run in processes of their own; if one is missing or broken, the error says what to do."""

from __future__ import annotations

import json
import sys

import pytest

from localdp.bench import peers
from localdp.bench.peers import NAMES, Peer
from localdp.errors import LocalDPError

TASK = ("oue", 4, 8, 1.0)


def _installed(folder, script):
    """An environment that looks installed, with a script in the place of its Python."""
    python = folder / "pure-ldp" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    (folder / "pure-ldp" / "installed.txt").write_text(peers._pins("pure-ldp").read_text())
    return folder


def test_a_task_is_one_line_and_so_is_its_answer(tmp_path):
    heard = tmp_path / "heard.txt"
    answer = '{"privatize": 1.5, "aggregate": 0.5, "decode": 0.25}'
    script = f"while read -r line; do echo \"$line\" >> '{heard}'; echo '{answer}'; done"
    with Peer("pure-ldp", _installed(tmp_path, script)) as peer:
        assert peer.run(*TASK) == {"privatize": 1.5, "aggregate": 0.5, "decode": 0.25}
        assert peer.run("olh", 5, 9, 2.0) == {"privatize": 1.5, "aggregate": 0.5, "decode": 0.25}
    asked = [json.loads(line) for line in heard.read_text().splitlines()]
    assert asked == [
        {"protocol": "oue", "users": 4, "size": 8, "epsilon": 1.0},
        {"protocol": "olh", "users": 5, "size": 9, "epsilon": 2.0},
    ]


def test_the_process_ends_with_the_block(tmp_path):
    with Peer("pure-ldp", _installed(tmp_path, "cat > /dev/null")) as peer:
        assert peer._process.poll() is None
    assert peer._process.returncode == 0


@pytest.mark.parametrize(
    "script",
    [
        f'exec "{sys.executable}" "$@"',  # our own environment, which does not have the library
        "exit 1",
        "read -r line; echo Killed",
        "read -r line",
    ],
    ids=["library missing", "ends at once", "answers nonsense", "no answer"],
)
def test_a_broken_process_is_named_with_its_folder(tmp_path, script):
    with (
        Peer("pure-ldp", _installed(tmp_path, script)) as peer,
        pytest.raises(LocalDPError, match=r"pure-ldp failed at oue with 4 users.*Delete the folder .*pure-ldp and run"),
    ):
        peer.run(*TASK)


@pytest.mark.slow
@pytest.mark.parametrize("stale", [False, True])
def test_a_peer_that_cannot_be_installed_says_what_is_needed(tmp_path, monkeypatch, stale):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    if stale:
        _installed(tmp_path, "exit 1")
        (tmp_path / "pure-ldp" / "installed.txt").write_text("pure-ldp==0.0.1\n")
    with pytest.raises(LocalDPError, match=r"pure-ldp, which localdp is compared with, could not be .*package index"):
        Peer("pure-ldp", tmp_path)
    assert not (tmp_path / "pure-ldp" / "installed.txt").exists()


@pytest.mark.parametrize("name", NAMES)
def test_every_package_of_a_peer_is_pinned(name):
    shown = peers.versions(name)
    assert name in shown
    for package in shown.split(", "):
        assert len(package.split()) == 2, package
        assert package.split()[1][0].isdigit()
