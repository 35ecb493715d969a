"""How results look in a notebook: small HTML tables that need nothing from elsewhere and suit light and dark pages.

Labels of items come from anywhere, so every text is escaped. Colours are those of the page; lines are grey and half
transparent. The classes on the outermost element keep MathJax from reading "$5 or $6" as a formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_OUTER = '<div class="localdp tex2jax_ignore mathjax_ignore" style="overflow-x:auto;max-width:100%">'
_TABLE = '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums;color:inherit">'
_LINE = "1px solid rgba(128,128,128,0.5)"
_CELL = "padding:0.2em 0.8em;vertical-align:top;color:inherit;background:transparent;"
_QUIET = '<div style="opacity:0.75;padding:0.2em 0">'


def table_html(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[bool], after: Sequence[str] = ()
) -> str:
    """A table with a title above it and lines of text after it. `texts` says which columns are text, not numbers.

    >>> page = table_html("Tea & milk", ["item", "users"], [["<b>", "7"]], [True, False], ["... and 3 more"])
    >>> "Tea &amp; milk" in page, "&lt;b&gt;" in page, "<b>" in page
    (True, True, False)
    """
    kinds = list(texts)
    head = "".join(_cell("th", name, text, f"border-bottom:{_LINE};") for name, text in zip(heads, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(_cell("td", cell, text) for cell, text in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    above = f'<div style="font-weight:600;padding:0.2em 0">{_escaped(title)}</div>' if title else ""
    below = "".join(f"{_QUIET}{_escaped(line)}</div>" for line in after)
    return f"{_OUTER}{above}{_TABLE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def facts_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Names and what they are, one to a line, under a title.

    >>> "<b>" in facts_html("Plan", [("items", "<b>")])
    False
    """
    rows = "".join(
        f"<tr>{_cell('th', name, True, 'font-weight:normal;opacity:0.75;')}{_cell('td', value, True)}</tr>"
        for name, value in facts
    )
    above = f'<div style="font-weight:600;padding:0.2em 0">{_escaped(title)}</div>'
    return f"{_OUTER}{above}{_TABLE}<tbody>{rows}</tbody></table></div>"


def _cell(tag: str, content: str, is_text: bool, style: str = "") -> str:
    """A cell; `dir="auto"` keeps a label that runs from right to left to itself."""
    side = "left" if is_text else "right"
    return f'<{tag} dir="auto" style="{_CELL}{style}text-align:{side}">{_escaped(content)}</{tag}>'


def _escaped(text: str) -> str:
    from html import escape  # a table of all HTML entities, which few programs need

    return escape(text)
