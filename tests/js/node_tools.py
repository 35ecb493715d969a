"""Node, npm and the packages of js/, for the tests of the JavaScript client. Tests that miss one are skipped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

JS = Path(os.environ.get("LOCALDP_JS", ROOT / "js"))  # another folder where a fault was put into a copy on purpose
NODE = shutil.which("node")
NPM = shutil.which("npm")
TOOLS = JS / "node_modules" / ".bin"

needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")
needs_packages = pytest.mark.skipif(
    NODE is None or NPM is None or not (TOOLS / "tsc").exists() or not (TOOLS / "terser").exists(),
    reason="Node, npm or the packages of js/ are not installed; `make test` installs the packages where Node is",
)


def run(command: list[str | Path], folder: Path = JS, given: str | None = None) -> str:
    """What a command prints; an error with all that it prints if it fails."""
    done = subprocess.run(  # noqa: S603 (our own programs)
        [str(part) for part in command],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "npm_config_update_notifier": "false"},
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def evaluate(program: str, given: Any, source: Path = JS / "src" / "index.js") -> Any:
    """What a program makes of JSON. In it, `localdp` is the client and `given` the value; it returns a value."""
    text = (
        f"import * as localdp from {json.dumps(source.as_uri())};\n"
        'import { readFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync(0, "utf8"));\n'
        f"const result = await (async () => {{ {program} }})();\n"
        "process.stdout.write(JSON.stringify(result));"
    )
    return json.loads(run([NODE or "node", "--input-type=module", "-e", text], given=json.dumps(given)))
