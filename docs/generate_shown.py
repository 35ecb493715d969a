"""Write what the Python on the pages prints into the text blocks below it: `python docs/generate_shown.py [pages]`.

Reports are made with a fixed seed here, the one of the picture on the home page, so that both show the same figures.
A block with a line `...` is left as it is.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import answer_path

import localdp as ldp

DOCS = Path(__file__).parent
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?P<between>(?:\s|</\w+>)*)(?:^```text\n(?P<shown>.*?)^```$)?", re.S | re.M
)


def main() -> None:
    """Write the pages that are named, or all of them."""
    _seed_reports()
    named = [Path(name) for name in sys.argv[1:]]
    for page in named or [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]:
        before = page.read_text("utf-8")
        if "```text\n" in before:
            after = written(before)
            page.write_text(after, "utf-8")
            print(f"{page}: {'changed' if after != before else 'as it was'}")


def written(page: str) -> str:
    """The page with what its Python prints."""
    names: dict[str, Any] = {"__name__": "page"}
    parts, at = [], 0
    for block in BLOCK.finditer(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "page", "exec"), names)  # noqa: S102 (the pages are ours)
        if block["shown"] is not None and "\n...\n" not in f"\n{block['shown']}":
            parts += [page[at : block.start("shown")], printed.getvalue()]
            at = block.end("shown")
    return "".join([*parts, page[at:]])


def _seed_reports() -> None:
    secure = ldp.Plan.privatize

    def seeded(plan: ldp.Plan, values: Any, **options: Any) -> ldp.Reports:
        return secure(plan, values, **{"seed": answer_path.SEED, **options})

    ldp.Plan.privatize = seeded  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
