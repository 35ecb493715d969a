"""A full disk, Ctrl-C, other signals and a closed pipe: one line, the right code, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import COMMAND


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "values.csv"
    path.write_text("name\n" + "product 7\nproduct 123\n" * 3_000_000)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_a_full_disk_is_one_line_code_1_and_leaves_nothing(collected, large, tmp_path, kind):
    """The limit on the size of a file stands in for the disk: both fail in the middle of a write."""
    command = [COMMAND, "privatize", large, "-p", collected / "plan.json", "-o", f"r.{kind}"]
    limit = (
        "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (99_999, 99_999));"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", limit, *map(str, command)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def _listen():
    """A shell starts jobs in the background with SIGINT ignored, and the command would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "lines"), [(signal.SIGINT, 1), (signal.SIGTERM, 0), (signal.SIGHUP, 0)], ids=lambda value: str(value)
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_signal_at_work_leaves_nothing(collected, large, tmp_path, number, lines, kind):
    command = [COMMAND, "privatize", large, "-p", collected / "plan.json", "-o", f"r.{kind}"]
    with subprocess.Popen(  # noqa: S603
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=_listen
    ) as process:
        while not list(tmp_path.iterdir()) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        shown = process.communicate()[1]
    assert process.returncode == 128 + number
    assert len(shown.splitlines()) == lines
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["typer", "localdp.cli.app", "numpy", "localdp.plan"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_modules_are_imported_shows_no_traceback(tmp_path, number, module):
    """Python tells what it has imported; the signal is sent when the module is told. Its items never end.

    So the command does not end by itself, however late the signal is sent.
    """
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    with subprocess.Popen(  # noqa: S603
        [COMMAND, "plan", "-"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen,
        env=environment,
    ) as process:
        for line in process.stderr:
            if line.rstrip().endswith(f" {module}"):
                break
        process.send_signal(number)
        rest = [line for line in process.stderr if not line.startswith("import time:")]
        process.wait()
    assert process.returncode in (-number, 128 + number)
    assert rest in ([], ["localdp: interrupted\n"])
    assert list(tmp_path.iterdir()) == []


def _wait_for_children(process):
    """Until the process has started others and they had a second to begin; 8 seconds where the system does not tell."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        time.sleep(7)
    while children.exists() and process.poll() is None and len(children.read_text().split()) < 2:
        time.sleep(0.05)
    time.sleep(1)


@pytest.mark.slow
def test_ctrl_c_ends_reproduce_and_its_processes_in_one_line(tmp_path):
    with subprocess.Popen(  # noqa: S603
        [COMMAND, "reproduce", "--quick", "--dataset", "retail"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen,
        start_new_session=True,
    ) as process:
        _wait_for_children(process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
        shown = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert shown == "localdp: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [3, 200])
def test_a_pipe_that_nobody_reads_ends_quietly(collected, tmp_path, rows):
    line = f"('{COMMAND}' estimate '{collected}/counts.agg' --json --top {rows}; echo code $? >&2) | true"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603, S607
    assert re.fullmatch(r"code [01]\n", done.stderr)
