"""A part that is missing fails in CI, and is skipped with its name elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from paths import ROOT

TESTS = {
    "a mark": "import pytest\n@pytest.mark.skipif(True, reason='Node is not installed')\ndef test_it(): pass\n",
    "a call": "import pytest\ndef test_it(): pytest.skip('PostgreSQL cannot be started here')\n",
    "a module": "import pytest\npytest.importorskip('no_such_package')\ndef test_it(): pass\n",
}
DATA = "import pytest\ndef test_it(): pytest.skip('the original is not on this machine')\n"


def run(text, folder, *, ci):
    (folder / "test_part.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "LOCALDP_CI": "1" if ci else ""}
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "missing_parts", "-p", "no:cacheprovider", "test_part.py"]
    return subprocess.run(  # noqa: S603 (our own tests)
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("text", TESTS.values(), ids=TESTS)
def test_a_missing_part_fails_in_ci_only(text, tmp_path):
    done = run(text, tmp_path, ci=True)
    assert done.returncode not in (0, 5), done.stdout
    assert "in CI nothing may be missing" in done.stdout
    done = run(text, tmp_path, ci=False)
    assert done.returncode in (0, 5), done.stdout
    assert "1 skipped" in done.stdout


def test_data_that_is_not_published_may_be_missing(tmp_path):
    assert run(DATA, tmp_path, ci=True).returncode == 0
