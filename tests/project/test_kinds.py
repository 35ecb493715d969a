"""Nothing outside of mechanisms, questions and studies asks which kind of thing it has: it asks the thing.

A kind of question, study or mechanism that is added, here or by somebody else, then works everywhere. What is counted
are lines that ask whether users hold sets, whether they are asked again, or whether something is of a class that stands
for one of these.
"""

from __future__ import annotations

import re

from paths import ROOT

PACKAGE = ROOT / "src" / "localdp"
AT_HOME = ("mechanisms", "questions", "studies")
CLASSES = (
    "SetMechanism|PaddingAndSampling|PrivSet|Chain|ItemSets|OneEach|OneUser|Choices|Choice|Unlisted|Sizes|Members|"
    "Discovery|Survey|Single|Found|FoundSets|DiscoveryClient|SurveyClient"
)
BRANCH = re.compile(
    r"holds_sets|set_size is (not )?None|\bonce is (not )?None|"
    rf"isinstance\([^()]*\b({CLASSES})\b|type\([^()]*\) is (not )?({CLASSES})\b"
)
MOST = 5


def branches():
    """The lines that ask for kinds, as file:number."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in AT_HOME:
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                if BRANCH.search(line):
                    yield f"{place}:{number}: {line.strip()}"


def test_hardly_anything_asks_which_kind_it_has():
    found = list(branches())
    assert len(found) <= MOST, "\n".join(found)


def test_such_lines_are_found():
    for line in (
        "if plan.mechanism.holds_sets:",
        "x = 1 if set_size is None else 2",
        "if self.once is not None:",
        "isinstance(study, Discovery | Survey)",
        "if type(mechanism) is PaddingAndSampling:",
    ):
        assert BRANCH.search(line)
    for line in ("if at_once is None:", "isinstance(error, FileNotFoundError)", "isinstance(found, HeavyHitters)"):
        assert not BRANCH.search(line)
