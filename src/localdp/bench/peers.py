"""The other libraries, each pinned in an environment of its own and measured in a process of this one's tree."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import Self

from localdp.bench.timing import Steps
from localdp.errors import LocalDPError

HERE = Path(__file__).parent
NAMES = ("pure-ldp", "multi-freq-ldpy")


class Peer:
    """A process of another library that is given one task at a time."""

    def __init__(self, name: str, environments: Path) -> None:
        self.name = name
        python = _environment(name, environments)
        self._process = subprocess.Popen(  # noqa: S603
            [python, "-W", "ignore", HERE / "peer.py", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, protocol: str, users: int, size: int, epsilon: float) -> Steps:
        """The seconds of each step for so many users."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise LocalDPError(f"{self.name} does not listen")
        task = {"protocol": protocol, "users": users, "size": size, "epsilon": epsilon}
        print(json.dumps(task), file=stdin, flush=True)
        answer: Steps = json.loads(stdout.readline())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


def versions(name: str) -> str:
    """The pins of a peer, in one line."""
    lines = _pins(name).read_text().splitlines()
    return ", ".join(line.replace("==", " ") for line in lines if not line.startswith("#"))


def _pins(name: str) -> Path:
    return HERE / "peers" / f"{name}.txt"


def _environment(name: str, environments: Path) -> Path:
    """The Python of the peer's environment, which is made when it is missing or its pins have changed."""
    folder, pins = environments / name, _pins(name).read_text()
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != pins:
        print(f"installing {name}, once", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", _pins(name)]
        try:
            subprocess.run([str(python), *map(str, install)], check=True, stdout=sys.stderr)  # noqa: S603
        except subprocess.CalledProcessError:
            raise LocalDPError(f"{name} could not be installed to compare with: is there a package registry?") from None
        installed.write_text(pins)
    return python
