"""Draw the path of one answer, from a device to an estimate, as an SVG: wide for a page, tall for a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import localdp as ldp

DRINKS = {"tea": 6_000, "coffee": 4_000, "water": 0}
SEED = 3
COLOURS = {"tea": "#009E73", "coffee": "#8A5A2B", "water": "#56B4E9"}
INK, SOFT, EDGE = "#1d2530", "#5a6572", "#c9d1da"
CARD_WIDTH, CARD_HEIGHT = 232, 286
MARGIN, GAP, ZONE_TOP = 14, 20, 46
PASSAGE = 72  # the room between device and collector, for the arrow


def survey() -> tuple[ldp.Plan, list[int], ldp.Calibrated]:
    """A seeded run with real reports: the plan, how many reports name each drink, and the calibrated frequencies."""
    plan = ldp.Plan(list(DRINKS), mechanism="grr", epsilon=1.0)
    answers = [drink for drink, people in DRINKS.items() for _ in range(people)]
    aggregate = plan.aggregate(plan.privatize(answers, seed=SEED))
    return plan, aggregate.counts.tolist(), aggregate.estimate().calibrate()


def wide() -> str:
    """All four steps in one row."""
    zone = 2 * CARD_WIDTH + 3 * GAP
    width = 2 * zone + PASSAGE + 2 * MARGIN
    height = CARD_HEIGHT + ZONE_TOP + GAP + 2 * MARGIN
    parts = []
    left = MARGIN
    cards = _cards()
    for title, pair in zip(("On the device", "At the collector"), (cards[:2], cards[2:]), strict=True):
        parts.append(_zone(left, MARGIN, zone, CARD_HEIGHT + ZONE_TOP + GAP, title))
        for place, card in enumerate(pair):
            parts.append(_moved(card, left + GAP + place * (CARD_WIDTH + GAP), MARGIN + ZONE_TOP))
        left += zone + PASSAGE
    middle = MARGIN + ZONE_TOP + CARD_HEIGHT / 2
    start = MARGIN + zone
    parts.append(_arrow(start + 6, middle, start + PASSAGE - 6, middle))
    parts.append(_text(start + PASSAGE / 2, middle - 30, "“coffee”", 15, "middle", COLOURS["coffee"], bold=True))
    parts.append(_text(start + PASSAGE / 2, middle - 13, "is sent", 13, "middle", SOFT))
    return _svg(width, height, parts)


def tall() -> str:
    """All four steps in one column."""
    zone = CARD_WIDTH + 2 * GAP
    zone_height = ZONE_TOP + 2 * CARD_HEIGHT + 2 * GAP
    width = zone + 2 * MARGIN
    height = 2 * zone_height + PASSAGE + 2 * MARGIN
    parts = []
    top = MARGIN
    cards = _cards()
    for title, pair in zip(("On the device", "At the collector"), (cards[:2], cards[2:]), strict=True):
        parts.append(_zone(MARGIN, top, zone, zone_height, title))
        for place, card in enumerate(pair):
            parts.append(_moved(card, MARGIN + GAP, top + ZONE_TOP + place * (CARD_HEIGHT + GAP)))
        top += zone_height + PASSAGE
    start = MARGIN + zone_height
    parts.append(_arrow(width / 2, start + 8, width / 2, start + PASSAGE - 8))
    parts.append(_text(width / 2 + 18, start + PASSAGE / 2 + 4, "“coffee” is sent", 15, "start", COLOURS["coffee"]))
    return _svg(width, height, parts)


def _cards() -> list[str]:
    plan, counts, calibrated = survey()
    low, high = calibrated.interval(0.9)
    mechanism = plan.mechanism
    shares = [mechanism.p_star, mechanism.q_star, mechanism.q_star]
    return [
        _card("1", "The answer", ["Ada drinks tea. Only her", "own device knows this", "for certain."], _person()),
        _card(
            "2",
            "The noise",
            ["The device draws at random.", "This time it draws coffee.", "Epsilon sets the shares."],
            _lots(shares),
        ),
        _card(
            "3",
            "The count",
            ["10,000 reports arrive. Which", "of them are true, nobody", "can tell."],
            _bars(counts, None),
        ),
        _card(
            "4",
            "The estimate",
            ["Average noise is subtracted,", "the rest is calibrated.", "(The truth: 6,000, 4,000, 0.)"],
            _bars(calibrated.frequencies.round().tolist(), list(zip(low.tolist(), high.tolist(), strict=True))),
        ),
    ]


def _person() -> str:
    bubble = "M118 30 h74 q10 0 10 10 v32 q0 10 -10 10 h-56 l-18 16 v-16 q-10 0 -10 -10 v-32 q0 -10 10 -10 z"
    parts = [
        '<circle cx="64" cy="44" r="24" fill="#0072B2"/>',
        '<path d="M24 118 a40 40 0 0 1 80 0 z" fill="#0072B2"/>',
        f'<path d="{bubble}" fill="#ffffff" stroke="{COLOURS["tea"]}" stroke-width="2.5"/>',
        _text(155, 63, "tea", 20, "middle", COLOURS["tea"], bold=True),
    ]
    return "".join(parts)


def _lots(shares: Sequence[float]) -> str:
    parts, left, width = [], 14.0, CARD_WIDTH - 28
    for drink, share in zip(DRINKS, shares, strict=True):
        span = share * width
        parts.append(f'<rect x="{left:.1f}" y="58" width="{span:.1f}" height="34" fill="{COLOURS[drink]}"/>')
        parts.append(_text(left + span / 2, 80, f"{share:.0%}", 14, "middle", "#ffffff", bold=True))
        parts.append(_text(left + span / 2, 110, drink, 14, "middle", INK))
        if drink == "coffee":
            tip = left + span / 2
            parts.append(f'<path d="M{tip:.1f} 54 l-9 -15 h18 z" fill="{INK}"/>')
            parts.append(_text(tip, 30, "drawn", 13, "middle", SOFT))
        left += span
    return "".join(parts)


def _bars(lengths: Sequence[float], intervals: Sequence[tuple[float, float]] | None) -> str:
    """Bars to one scale, which both cards share, with a line across the end of each where there is an interval."""
    parts, scale, left = [], 104 / 6_400, 62
    for place, (drink, length) in enumerate(zip(DRINKS, lengths, strict=True)):
        top = 16 + place * 36
        end = left + length * scale
        parts.append(_text(left - 8, top + 17, drink, 14, "end", INK))
        parts.append(
            f'<rect x="{left}" y="{top}" width="{length * scale:.1f}" height="24" fill="{COLOURS[drink]}" rx="2"/>'
        )
        if intervals:
            low, high = (left + edge * scale for edge in intervals[place])
            parts.append(
                f'<path d="M{low:.1f} {top + 12} H{high:.1f} M{low:.1f} {top + 6} v12 M{high:.1f} {top + 6} v12" '
                f'stroke="{INK}" stroke-width="2" fill="none"/>'
            )
            end = max(end, high)
        parts.append(_text(end + 6, top + 17, f"{length:,.0f}", 14, "start", INK))
    return "".join(parts)


def _card(number: str, title: str, words: Sequence[str], picture: str) -> str:
    parts = [
        f'<rect width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="10" fill="#ffffff" stroke="{EDGE}"/>',
        f'<circle cx="28" cy="30" r="14" fill="{INK}"/>',
        _text(28, 35.5, number, 15, "middle", "#ffffff", bold=True),
        _text(52, 36, title, 18, "start", INK, bold=True),
        f'<g transform="translate(0 62)">{picture}</g>',
    ]
    parts.extend(_text(16, 222 + 21 * line, sentence, 15, "start", INK) for line, sentence in enumerate(words))
    return "".join(parts)


def _zone(left: float, top: float, width: float, height: float, title: str) -> str:
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="14" fill="#eef3f8" stroke="{EDGE}"/>'
        + _text(left + GAP, top + 30, title, 16, "start", SOFT, bold=True)
    )


def _arrow(left: float, top: float, right: float, bottom: float) -> str:
    return (
        f'<path d="M{left} {top} L{right} {bottom}" stroke="{COLOURS["coffee"]}" stroke-width="4" '
        'marker-end="url(#tip)" fill="none"/>'
    )


def _text(left: float, top: float, words: str, size: float, anchor: str, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{left:g}" y="{top:g}" font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"{weight}>'
        f"{escape(words)}</text>"
    )


def _moved(part: str, left: float, top: float) -> str:
    return f'<g transform="translate({left:g} {top:g})">{part}</g>'


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="4" markerHeight="4" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{COLOURS["coffee"]}"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="Helvetica, Arial, sans-serif">\n'
        f'<rect width="100%" height="100%" rx="16" fill="#ffffff"/>\n{tip}\n' + "\n".join(parts) + "\n</svg>\n"
    )
