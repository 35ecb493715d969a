"""A web page in one file: no script, no style sheet, no picture that is not inside it, so it opens offline."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 64rem; margin: 2rem auto;
       padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
img { max-width: 100%; height: auto; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #ccc; padding: .3rem .7rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
figure { margin: 1.5rem 0; } figcaption { color: #444; }
@media (max-width: 40rem) { table { font-size: .75rem; } th, td { padding: .25rem .3rem; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The whole page, from parts that are HTML already."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"<h1>{html.escape(title)}</h1>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """The heading of a section."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph; what stands between backticks is code."""
    return f"<p>{_inline(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table; the last `numbers` columns hold numbers and are aligned to the right; an empty head is left out."""

    def line(cells: Sequence[str], tag: str) -> str:
        first = len(cells) - numbers
        kinds = ("" if place < first else ' class="number"' for place in range(len(cells)))
        return "".join(f"<{tag}{kind}>{_inline(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if any(head) else ""
    return f'<div class="wide"><table>\n{top}\n<tbody>\n{body}\n</tbody></table></div>'


def picture(figure: Figure, caption: str) -> str:
    """A figure, inside the page."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    data = base64.b64encode(drawn.getvalue()).decode("ascii")
    escaped = html.escape(caption)
    return (
        f'<figure><img alt="{escaped}" src="data:image/png;base64,{data}"><figcaption>{escaped}</figcaption></figure>'
    )


def _inline(text: str) -> str:
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
