"""Figures have a command that exists, no sentence stands on two pages, and words have a budget."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from paths import DOCS, ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("*/*.md")),
]
PAGES = [page for page in PAGES if "_build" not in page.parts]
RESULTS = [page for page in sorted((DOCS / "results").glob("*.md")) if page.name != "README.md"]
SCRIPT = re.compile(r"python ((?:benchmarks|audits|scripts|docs|vectors)/[\w./-]+\.py)([^`\n]*)")
MAKE = re.compile(r"(?:`|^\$ )make ([a-z]+)", re.MULTILINE)
COMMAND = re.compile(r"(?:`|^\$ )localdp ([a-z]+)\b([^`\n|]*)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def _missing(text):
    """The commands in a text that do not exist, or that do not have an option they are shown with."""
    for path, rest in SCRIPT.findall(text):
        script = ROOT / path
        if not script.is_file():
            yield f"python {path}"
            continue
        code = "".join(each.read_text("utf-8") for each in script.parent.glob("*.py"))
        yield from (f"{path} {option}" for option in OPTION.findall(rest) if f'"{option}"' not in code)
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    yield from (f"make {target}" for target in MAKE.findall(text) if target not in targets)
    sections = {part.split("\n", 1)[0]: part for part in (DOCS / "cli.md").read_text("utf-8").split("\n## ")}
    for name, rest in COMMAND.findall(text):
        if name not in sections:
            yield f"localdp {name}"
        else:
            yield from (f"localdp {name} {each}" for each in OPTION.findall(rest) if each not in sections[name])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_exists(page):
    assert list(_missing(page.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "`python benchmarks/gone.py`",
        "`python benchmarks/sweep.py --gone`",
        "`make gone`",
        "$ make gone",
        "`localdp gone`",
        "`localdp plan --gone`",
        "$ localdp advise --gone",
    ],
)
def test_a_command_that_is_gone_is_found(text):
    assert len(list(_missing(text))) == 1


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_every_page_of_results_names_its_command_and_is_in_the_list(page):
    assert SCRIPT.search(page.read_text("utf-8")) or page.name == "mutants.md"  # the checks' page names that one
    assert f"]({page.name})" in (DOCS / "results" / "README.md").read_text("utf-8")


def _sentences(page):
    text = re.sub(r"```.*?```|<[^>]*>|!\[[^\]]*\]\([^)]*\)", " . ", page.read_text("utf-8"), flags=re.DOTALL)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "    ", "#", "**Learn how")))
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)
    for sentence in re.split(r"(?<=[.!?:])\s+|\n\n|\n- ", prose):
        words = re.findall(r"[\w'-]+", sentence.lower())
        if len(words) >= 10:
            yield " ".join(words)


def test_no_sentence_stands_on_two_pages():
    found = defaultdict(set)
    for page in PAGES:
        if page.parent in (ROOT, DOCS) and page.name != "cli.md":
            for sentence in _sentences(page):
                found[sentence].add(page.name)
    assert {sentence: pages for sentence, pages in found.items() if len(pages) > 1} == {}


LOOKED_UP = ("cli.md", "api.md", "wire-format.md")  # and the folders: results, decisions, the reproduction


def test_pages_that_are_read_stay_within_their_budget():
    read = [page for page in sorted(DOCS.glob("*.md")) if page.name not in LOOKED_UP]
    words = {page.name: len(page.read_text("utf-8").split()) for page in read}
    assert sum(words.values()) <= 45_000, f"cut before you add: {sorted(words.items(), key=lambda each: -each[1])[:9]}"
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 700


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_every_page_opens_with_whom_it_is_for(page):
    opening = page.read_text("utf-8").split("\n\n")[1:3]
    assert page.name in ("cli.md", "index.md") or re.search(r"\b(For|for)\b", " ".join(opening))
