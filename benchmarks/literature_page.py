"""The page docs/results/literature.md, of which every benchmark of a published method writes its own part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "results" / "literature.md"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write(part: str, text: str) -> None:
    """Put the text between the marks of this part."""
    page = PAGE.read_text("utf-8")
    begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
    found, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}\n\n{text}\n\n{end}", page, flags=re.S)
    if count != 1:
        raise ValueError(f"{PAGE} has no place for {part}")
    PAGE.write_text(found, "utf-8")
