"""In CI nothing may be missing: a test that would be skipped there has failed. Elsewhere its reason names the part.

Data that cannot be published is no part of the repository, and tests of it are skipped everywhere.
"""

from __future__ import annotations

import os

import pytest

_NOT_PUBLISHED = "not on this machine"


def _judged(report):
    """The report, as a failure if something is missing in CI."""
    # The reason of a skipped test is the last of three: the file, the line, and "Skipped: ...".
    reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    expected = hasattr(report, "wasxfail") or _NOT_PUBLISHED in reason
    if report.skipped and not expected and os.environ.get("LOCALDP_CI"):
        report.outcome, report.longrepr = "failed", f"in CI nothing may be missing ({reason})"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001 (pytest gives them)
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):  # noqa: ARG001 (pytest gives it)
    return _judged((yield))
