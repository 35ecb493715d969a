r"""Fonts for labels in any script: installed ones where they have the characters, and escapes such as \u6c34 elsewhere.

The default font of matplotlib has no Chinese, Japanese or Korean characters and few emoji. It would draw boxes, and
warn about each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

# The families that have many characters, in the order in which they are tried; after them come all others.
_RICH = (
    "Noto Sans CJK",
    "Source Han Sans",
    "PingFang",
    "Hiragino",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi",
    "Droid Sans Fallback",
    "Arial Unicode",
    "Noto Sans",
    "Noto Emoji",
    "Segoe UI",
    "Symbola",
    "FreeSans",
    "Unifont",
)
# Coloured pictures cannot be drawn as outlines, and these others have a box or nothing for every character.
_USELESS = ("color emoji", "colour emoji", "lastresort", "last resort", "blank")


def drawable(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """The labels as they can be drawn, and the font families to draw them with.

    A character that no installed font has is written as its escape.

    >>> drawable(["tea"])
    (['tea'], ['sans-serif'])
    """
    from matplotlib.font_manager import FontProperties, findfont

    usual = FontProperties()
    families = list(usual.get_family())
    missing = _missing(set("".join(labels)), findfont(usual))
    if not missing:
        return list(labels), families
    found, without = _families_with(frozenset(missing), len(_installed()))
    escapes = {ord(sign): sign.encode("unicode_escape").decode() for sign in without}
    return [label.translate(escapes) for label in labels], [*families, *found]


@lru_cache(maxsize=64)
def _families_with(signs: frozenset[str], installed: int) -> tuple[tuple[str, ...], frozenset[str]]:  # noqa: ARG001
    """Families that have as many of these characters as possible, and the characters that none has.

    `installed` is the number of fonts there are, so that a search is repeated once more have been added.
    """
    found, left = [], set(signs)
    for entry in sorted(_installed(), key=_preference):
        if not left:
            break
        missing = _missing(left, entry.fname)
        if len(missing) < len(left):
            found.append(str(entry.name))
            left = missing
    return tuple(found), frozenset(left)


def _installed() -> list[Any]:
    """The fonts that matplotlib knows, without those that are useless here."""
    from matplotlib.font_manager import fontManager

    return [font for font in fontManager.ttflist if not any(name in font.name.lower() for name in _USELESS)]


def _preference(font: Any) -> tuple[int, bool, str]:
    """Rich families first, and upright fonts of usual weight before others."""
    rank = next((place for place, family in enumerate(_RICH) if font.name.startswith(family)), len(_RICH))
    return rank, font.style != "normal" or font.weight not in (400, "normal", "regular"), font.name


def _missing(signs: Iterable[str], path: str) -> set[str]:
    """The characters that the font in this file does not have: all of them if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (OSError, RuntimeError):
        return set(signs)
    return {sign for sign in signs if font.get_char_index(ord(sign)) == 0}
