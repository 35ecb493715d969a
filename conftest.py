"""Python in README.md and docs/ is run as tests, each page from top to bottom, and must print what the page shows."""

import os

# This must be set before NumPy is imported. BLAS starts a thread for each processor, and threads with nothing to do
# wait busily: with several processes of tests, that would be most of the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from shown_output import compare, run
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser

parsers = [CodeBlockParser("python", run), CodeBlockParser("text", compare), SkipParser()]
pytest_collect_file = Sybil(parsers=parsers, patterns=["*.md"]).pytest()
