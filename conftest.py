"""Python in README.md and docs/ is run as tests, each page from top to bottom, and must print what the page shows."""

import os

# This must be set before NumPy is imported. BLAS starts a thread for each processor, and threads with nothing to do
# wait busily: with several processes of tests, that would be most of the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from shown_output import compare, run
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser

parsers = [CodeBlockParser("python", run), CodeBlockParser("text", compare), SkipParser()]
pytest_collect_file = Sybil(parsers=parsers, patterns=["*.md"]).pytest()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Two processes more than processors: tests of pages, servers and disks wait for half of their time."""
    return (os.cpu_count() or 1) + 2 if config.option.numprocesses == "auto" else None


def pytest_collection_modifyitems(items):
    """Files with slow tests and pages of documents first, so that no process has a long file to itself at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.path.suffix == ".md"}
    items.sort(key=lambda item: item.path not in slow)
