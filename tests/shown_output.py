"""Python on a page is run, and what it prints is compared with the text block below it, if there is one.

The words must be the same. Figures may differ where a page makes reports with secure noise. Elsewhere they may differ
by 5%: a page must follow when a prior is improved much, but not when its last digits change. A line `...` stands for
the rest.
"""

from __future__ import annotations

import contextlib
import io
import re

import pytest
from sybil.evaluators.python import PythonEvaluator

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d*)?(?:e[+-]\d+)?")
HTML_TAG = re.compile(r"</?\w+>")  # where the code can be folded away
_PRINTED = "__printed__"
_run = PythonEvaluator()


def run(example):
    """Run a Python block, and keep what it prints for the block that follows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _run(example)
    example.namespace[_PRINTED] = (example.region.end, printed.getvalue())


def compare(example):
    """Compare a text block with what the Python block just above it printed."""
    end, printed = example.namespace.get(_PRINTED, (0, ""))
    if HTML_TAG.sub("", example.document.text[end : example.region.start]).strip():
        return  # other words stand between the two: the text is not the output
    secure = "privatize(" in example.document.text
    assert_shown(printed, example.parsed, figures=not secure)


def assert_shown(printed, shown, figures=True):
    """Fail unless the page shows what was printed."""
    lines = shown.strip("\n").split("\n")
    if "..." in lines:
        lines = lines[: lines.index("...")]
        printed = "\n".join(printed.split("\n")[: len(lines)])
    words, numbers = _parts(printed)
    expected_words, expected_numbers = _parts("\n".join(lines))
    what_to_do = f"run docs/generate_shown.py, because this was printed:\n{printed}"
    assert words == expected_words, f"the page shows other words; {what_to_do}"
    if figures:
        assert numbers == pytest.approx(expected_numbers, rel=0.05, abs=0.02), f"other figures; {what_to_do}"


def _parts(text):
    numbers = [float(found.replace(",", "")) for found in NUMBER.findall(text)]
    words = re.sub(r"\s+", " ", NUMBER.sub("#", text)).replace(" ]", "]").replace("[ ", "[")
    return words.strip(), numbers
