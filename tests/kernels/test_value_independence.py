"""The check that the path does not depend on the value passes in a process that has done nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CHECK = (
    "from localdp.checks.independence import check_value_independence; from localdp.mechanisms import MECHANISMS; "
    "[check_value_independence(MECHANISMS[name]) for name in ('oue', 'ss')]; print('independent')"
)


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
def test_room_that_is_made_once_is_no_dependence_on_the_value(kernels):
    line = [sys.executable, "-c", CHECK]
    run = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "LOCALDP_KERNELS": kernels})  # noqa: S603
    assert run.stdout.strip() == "independent", run.stderr[-300:]
