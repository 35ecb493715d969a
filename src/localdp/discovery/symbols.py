"""The symbols of which texts are written: every byte, the end mark, and pieces that are common in words and addresses.

The weights are rough frequencies. Those of signs and pieces were counted in the descriptions of some hundred Python
packages, in their English words and in the addresses among them, and rounded; pieces that are common on the web and
rare there were given a little more. They are public and do not depend on anybody's data. A change of this table is a
new code: texts of an old one cannot be read with it.
"""

from __future__ import annotations

from functools import cache

END = 256
"""The symbol of the end mark. Smaller symbols are the bytes 0 to 255, larger ones are pieces of several bytes."""

_END_WEIGHT = 1350

_SIGNS = {
    450: "s", 410: "p", 350: "a", 320: "i", 300: "e", 280: "tud", 260: "om", 250: "/l", 240: "y", 210: "c", 200: "g",
    180: "r", 150: "bfhn", 110: "v.", 100: "w", 75: "-", 70: "kx", 30: "jqz", 24: " 123", 14: "=#?_456789:0",
    8: "ABCDEFGHIJKLMNOPQRSTUVWXYZ'", 4: '!"$%&()*+,;<>@[\\]^`{|}~',
}  # fmt: skip

_PIECES = {
    140: "https://", 120: "re", 80: "in st", 70: "li de an ra or", 60: "on er ar", 55: "ic se al the ing at it",
    50: "co te le ch en", 40: ".org/ to docs. es .com/", 30: "con ed is for", 25: ".html ation latest",
    20: "pro and /en/ res all ment .io/ tion com www. https://www. http://",
    15: "ter int project github.com/ ate ion ver nt",
    12: "ist per docs ide ack age str ple but .py ent http://www. .net/",
    10: "stable of able ith are version doc not .com .org",
    8: "set ers api ure ati est ight ont en/ user index .net 20 wikipedia.org/wiki/ google youtube amazon",
    5: "ive with ting ere get ated def ance out oth oft this package from that .0 10 .php .co.uk .de/ search news page",
    3: "ally ence hes content her /index.html static image ture eth issue hat product html ings download less ould "
       "blog have home tha ough .io /blob/ his ious about /api/ .json 00 wiki ness /issues/ /tree/ 19 .txt .edu ?q= "
       "tio nth fth category .gov .htm .js .pdf .xml /v1/ /wiki/ ?id= login sth",
}  # fmt: skip


@cache
def octets() -> tuple[bytes, ...]:
    """What each symbol stands for; the end mark for nothing."""
    pieces = (piece.encode() for listed in _PIECES.values() for piece in listed.split())
    return (*(bytes([byte]) for byte in range(256)), b"", *pieces)


@cache
def weights() -> tuple[int, ...]:
    """The weight of each symbol."""
    found = [1] * END
    found[0x80:0xC0] = [4] * 64  # second and later bytes of other letters
    found[0xC2:0xF0] = [3] * 46
    found[0xC3] = 8  # begins the accented letters of Western Europe
    for weight, signs in _SIGNS.items():
        for sign in signs:
            found[ord(sign)] = weight
    return (*found, _END_WEIGHT, *(weight for weight, listed in _PIECES.items() for _ in listed.split()))


@cache
def _numbers() -> dict[bytes, int]:
    return {piece: symbol for symbol, piece in enumerate(octets()) if symbol > END}


@cache
def _longest() -> int:
    return max(map(len, octets()))


def next_symbol(text: bytes, start: int) -> int:
    """The symbol with which a text goes on: the longest piece that fits, or a byte."""
    known = _numbers()
    for size in range(min(_longest(), len(text) - start), 1, -1):
        symbol = known.get(text[start : start + size])
        if symbol is not None:
            return symbol
    return text[start]


def symbols_of(text: bytes) -> list[int]:
    """A text as symbols, with the end mark. Every text is written in one way.

    >>> [octets()[symbol] for symbol in symbols_of(b"https://docs.x.org/")]
    [b'https://', b'docs.', b'x', b'.org/', b'']
    """
    found, start, pieces = [], 0, octets()
    while start < len(text):
        found.append(next_symbol(text, start))
        start += len(pieces[found[-1]])
    return [*found, END]


def is_written_so(symbols: list[int]) -> bool:
    """Whether some text is written with these symbols at its beginning: no longer piece fits into what is known."""
    pieces = octets()
    text = b"".join(pieces[symbol] for symbol in symbols)
    start = 0
    for symbol in symbols:
        if symbol != END and next_symbol(text, start) != symbol:
            return False
        start += len(pieces[symbol])
    return True
