"""The first code of texts: every byte, the end mark, and pieces that are common in words and addresses.

Discoveries that were made with it name it by a digest. New ones hold their books (`library`), which use its symbols for
addresses.

The weights are rough frequencies. Those of signs and pieces were counted in the descriptions of some hundred Python
packages, in their English words and in the addresses among them, and rounded; pieces that are common on the web and
rare there were given a little more. They are public and do not depend on anybody's data. A change of this table is a
new code: texts of an old one cannot be read with it.
"""

from __future__ import annotations

import hashlib
from functools import cache

from localdp.discovery.books import Book, Books, huffman_lengths
from localdp.formats import canonical_json

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
def first_books() -> Books:
    """The first code of texts: one book, in which every byte has a symbol. Lengths are by Huffman's algorithm."""
    return Books([Book(octets(), huffman_lengths(weights()), completes=False)])


@cache
def name() -> str:
    """What identifies this code: the SHA-256 of its symbols and of the lengths of their code words."""
    table = {"symbols": [piece.hex() for piece in octets()], "lengths": list(huffman_lengths(weights()))}
    return hashlib.sha256(canonical_json.dumps(table).encode()).hexdigest()
