"""A full disk, Ctrl-C and a closed pipe: one line, the right code, and nothing left behind."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

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


def test_interrupting_is_one_line_code_130_and_leaves_nothing(collected, large, tmp_path):
    command = [COMMAND, "privatize", large, "-p", collected / "plan.json", "-o", "r.csv"]

    def listen():  # a shell starts jobs in the background with SIGINT ignored, and the command would inherit that
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(  # noqa: S603
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=listen
    ) as process:
        while not list(tmp_path.iterdir()) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        shown = process.communicate()[1]
    assert process.returncode == 130
    assert len(shown.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [3, 200])
def test_a_pipe_that_nobody_reads_ends_quietly(collected, tmp_path, rows):
    line = f"('{COMMAND}' estimate '{collected}/counts.agg' --json --top {rows}; echo code $? >&2) | true"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603, S607
    assert re.fullmatch(r"code [01]\n", done.stderr)
