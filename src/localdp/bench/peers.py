"""The other libraries ("peers"). Each is pinned, has an environment of its own, and is measured in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import Self

from localdp.bench.timing import Timings
from localdp.errors import LocalDPError

HERE = Path(__file__).parent
NAMES = ("pure-ldp", "multi-freq-ldpy")


class Peer:
    """A process that runs another library, one task at a time. Use it in a `with` block, which ends the process.

    `environments` is the folder that holds the environment of every peer; it is made when it is missing.
    """

    def __init__(self, name: str, environments: Path) -> None:
        self.name = name
        self._folder = environments / name
        self._process = subprocess.Popen(  # noqa: S603
            [environment(name, self._folder), "-W", "ignore", HERE / "peer_process.py", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, protocol: str, users: int, size: int, epsilon: float) -> Timings:
        """Run the protocol; return the seconds of privatize, aggregate and decode, each for all users together."""
        task = {"protocol": protocol, "users": users, "size": size, "epsilon": epsilon}
        try:
            answer: Timings = json.loads(self._ask(json.dumps(task)))
        except (BrokenPipeError, ValueError):
            raise LocalDPError(
                f"{self.name} failed at {protocol} with {users:,} users, {size:,} items and epsilon {epsilon:g}; what "
                f"it printed is above. Delete the folder {self._folder} and run again to install it afresh"
            ) from None
        return answer

    def _ask(self, line: str) -> str:
        """Send a line and wait for the answer; empty if the process has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise BrokenPipeError
        print(line, file=stdin, flush=True)
        return stdout.readline()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # closes its input, so it ends


def versions(name: str) -> str:
    """The pinned packages of a peer, in one line."""
    lines = _pins(name).read_text().splitlines()
    return ", ".join(line.replace("==", " ") for line in lines if not line.startswith("#"))


def _pins(name: str) -> Path:
    return HERE / "pins" / f"{name}.txt"


def environment(name: str, folder: Path) -> Path:
    """The Python of the peer's environment, which is made if it is missing or if the pins have changed."""
    pins = _pins(name).read_text()
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != pins:
        print(f"installing {name} (only once)", file=sys.stderr)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", str(_pins(name))]
        try:
            venv.create(folder, clear=True, with_pip=True)
            subprocess.run([str(python), *install], check=True, stdout=sys.stderr)  # noqa: S603
        except subprocess.CalledProcessError:
            raise LocalDPError(
                f"{name}, which localdp is compared with, could not be installed into {folder}: pip says why above. It "
                "needs a package index, over the network or a local one (PIP_INDEX_URL)"
            ) from None
        installed.write_text(pins)
    return python
