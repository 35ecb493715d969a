"""Python in README.md and docs/ is run as tests, each page from top to bottom, and must print what the page shows."""

from shown_output import compare, run
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser

parsers = [CodeBlockParser("python", run), CodeBlockParser("text", compare), SkipParser()]
pytest_collect_file = Sybil(parsers=parsers, patterns=["*.md"]).pytest()
