"""Machine code that Numba keeps must notice when a constant of another file changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import localdp

COMPARE = """
import numpy as np
from localdp.kernels import dispatch, rare_bits
from localdp.randomness.keystream import seeded

drawn = []
for choice in ("fast", "numpy"):
    with dispatch.kernels(choice):
        drawn.append(rare_bits.rare_bits(seeded(1), 20, 3000, 2**55, 64))
print(rare_bits.__file__, rare_bits.REACH, np.array_equal(*drawn))
"""


@pytest.mark.slow
def test_compiled_jumps_follow_a_changed_reach(tmp_path):
    """With the old reach in kept machine code, compiled reports would have other noise than the stated one."""
    package = tmp_path / "localdp"
    shutil.copytree(Path(localdp.__file__).parent, package)
    definitions = package / "kernels" / "rare_bits.py"

    def compare():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(  # noqa: S603 (the script above)
            [sys.executable, "-c", COMPARE], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert compare() == f"{definitions} 254 True"
    assert list((package / "kernels" / "compiled" / "__pycache__").glob("rare_bits._light_along*.nbi"))
    text = definitions.read_text("utf-8")
    assert text.count("REACH = 254") == 1
    definitions.write_text(text.replace("REACH = 254", "REACH = 200"), "utf-8")
    assert compare() == f"{definitions} 200 True"
