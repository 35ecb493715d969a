"""Web pages made from the templates beside this file. A page is one file that opens offline and runs no script.

Jinja2 escapes everything that is put into a page; the Content-Security-Policy in `base.html.jinja` forbids anything
from outside. Jinja2 is imported late, because only `localdp demo` and `localdp reproduce` write pages.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from localdp.errors import MissingPackageError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.figure import Figure

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Picture:
    """A picture inside a page: its caption, which is also its text for screen readers, and the data URI of a PNG."""

    caption: str
    source: str


def as_png(figure: Figure) -> bytes:
    drawn = BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()


def picture(png: bytes, caption: str) -> Picture:
    """A PNG that travels inside the page."""
    encoded = base64.b64encode(png).decode("ascii")
    return Picture(caption, f"data:image/png;base64,{encoded}")


def render(template: str, **content: object) -> str:
    """The page that the template in `templates/` makes of the content.

    A template variable that gets no value raises an error.
    """
    return environment().get_template(template).render(**content)


@cache
def environment() -> Environment:
    """Jinja2 with our templates. Raises an error that says how to install Jinja2 if it is missing."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingPackageError("web pages need the package jinja2: pip install jinja2") from None
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["code"] = code
    return made


def code(text: str) -> Markup:
    """The text as HTML, escaped; text between backticks is shown as code.

    >>> print(code("run `localdp demo` & look"))
    run <code>localdp demo</code> &amp; look
    """
    from markupsafe import Markup, escape

    pieces = [escape(piece) for piece in text.split("`")]
    pieces[1::2] = [Markup("<code>{}</code>").format(piece) for piece in pieces[1::2]]
    return Markup("").join(pieces)
