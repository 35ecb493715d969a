"""The books that texts are written in if nobody says otherwise, and those made of an alphabet or of examples.

The weights are rough frequencies, public, and of nobody's data. Letters and pieces of English were counted in the
descriptions of some hundred Python packages and rounded; the letters of other scripts are listed by how common they
are. The document of a discovery holds its books, so that this table may change and old discoveries are read as before.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable
from functools import cache

from localdp.discovery import symbols
from localdp.discovery.books import END, Book, Books, huffman_lengths
from localdp.errors import InvalidInputError

_ASCII = [bytes([byte]) for byte in range(128)]
_LEADS = [bytes([byte]) for byte in range(0xC2, 0xF5)]
_WORDS = {
    312: "o a n e d t", 300: "p", 221: "i u", 156: "g y b m h c f w", 110: "r in",
    78: "k l de se or st re it ing ce al ar", 55: "ma ra an er te le es me ed ut lo un ri ve",
    39: "th fi ti li ic co pl ro il ul ch ck", 28: "v x ca ly ion ate ation ol con vi ter tion",
    20: "z ver ll the for par ste ting int pre ment ent per res ure",
    14: "q j 0 1 2 - age lin rea able che ther and",
    8: "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z 3 4 5 6 7 8 9 ' . &",
    3: "! \" # $ % ( ) * + , / : ; < = > ? @ [ ] _",
}  # fmt: skip
_LETTERS = {
    850: "e", 700: "a", 600: "r i o", 550: "t n s", 450: "l", 350: "c u d", 280: "p m h", 220: "g b", 170: "f y w",
    110: "k v", 30: "x z j q", 10: "- '",
}  # fmt: skip
_DIGITS = "0 1 2 3 4 5 6 7 8 9"
_NUMBERS = {90: _DIGITS, 20: ". - : /", 12: "+ ,", 5: "( ) % $ # * x \u20ac \u00a3"}
_SCRIPTS = {
    "arabic": (
        "\u0627\u0644\u064a\u0645\u0648\u0646\u0631\u062a\u0628\u0639\u0647\u062f\u0641\u0633\u0642\u0643"
        "\u062d\u0623\u0629\u062c\u0634\u0635\u0637\u062e\u0636\u0649\u0632\u0625\u0630\u062b\u0621\u0638"
        "\u063a\u0626\u0622\u0624\u06cc\u067e\u0686\u06af\u06a9\u0698"
    ),
    "cyrillic": "оаеинтсрвлкмдпуяыгзбчйхжьшюцщэфъёіїєґАБВГДЕЗИКЛМНОПРСТУФХЦЧШЭЮЯ",
    "greek": "αοιετσνηυρπκμλςίόάγέδήωθχύφώβξζψΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ",
    "hebrew": (
        "\u05d9\u05d5\u05d4\u05dc\u05d0\u05e8\u05ea\u05de\u05d1\u05e0\u05e9\u05dd\u05e2\u05d3\u05d7\u05e7"
        "\u05e4\u05db\u05d8\u05df\u05d2\u05e6\u05e1\u05da\u05d6\u05e3\u05e5"
    ),
    "devanagari": (
        "\u093e\u0930\u0915\u0947\u0928\u0940\u092e\u093f\u0938\u0924\u0939\u094d\u0932\u092a\u092f\u0902"
        "\u0935\u0926\u094b\u091c\u0917\u0941\u091f\u092c\u0936\u0907\u090f\u0905\u0916\u091a\u0942\u0925"
        "\u0921\u0927\u0948\u092d\u0906\u093c\u0909\u0937\u0923\u094c\u0918\u091b\u0901\u091d\u0920\u0943"
        "\u0913\u0922\u092b"
    ),
    "thai": (
        "\u0e32\u0e19\u0e23\u0e2d\u0e01\u0e40\u0e07\u0e48\u0e21\u0e22\u0e25\u0e27\u0e14\u0e17\u0e49\u0e2a"
        "\u0e31\u0e15\u0e30\u0e1b\u0e1a\u0e04\u0e35\u0e2b\u0e34\u0e41\u0e08\u0e1e\u0e0a\u0e02\u0e43\u0e44"
        "\u0e39\u0e38\u0e33\u0e37\u0e42\u0e0b\u0e16\u0e1c\u0e0d\u0e4c\u0e28\u0e18\u0e1f\u0e47\u0e36\u0e20"
        "\u0e29\u0e13"
    ),
}
"""The letters of each script, the most common first."""
_CHINESE = (
    "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自去之过家学对可里后小心多天而能好都日发成事文无开手"
    "十用主行方前所本见头面公同三老动两长高水电业机车新美山海"
)
_WIDE = {
    "chinese": ({b"\xe4": 120, b"\xe5": 150, b"\xe6": 130, b"\xe7": 100, b"\xe8": 90, b"\xe9": 80}, _CHINESE, 3),
    "japanese": (
        {b"\xe3\x81": 180, b"\xe3\x82": 200, b"\xe3\x83": 170, b"\xe3\x80": 5}
        | {b"\xe4": 40, b"\xe5": 60, b"\xe6": 60, b"\xe7": 40, b"\xe8": 30, b"\xe9": 30},
        "\u30fc\u3093\u30f3\u306e\u3044\u3057\u308b\u30b9\u30c8\u30a4\u30af\u30eb\u30e9\u30a2\u30c3\u3063\u304f\u304d\u305f\u306a\u3068",
        12,
    ),
    "korean": ({b"\xea": 150, b"\xeb": 250, b"\xec": 250, b"\xed": 100}, "이다는에가의고리스지기사", 15),
    "emoji": (
        {b"\xf0\x9f": 40, b"\xf0\x9f\x98": 150, b"\xe2\x9d": 20, b"\xe2\x98": 20, b"\xe2\x9c": 15, b"\xe2": 6}
        | {b"\xf0\x9f\x87": 60} | {b"\xf0\x9f" + bytes([byte]): 30 for byte in (0x8c, 0x8d, 0x8e, 0x8f)}
        | {b"\xf0\x9f" + bytes([byte]): 50 for byte in (0x91, 0x92, 0x94, 0xa4, 0xa5)},
        "\ufe0f\u200d\u2764\U0001f602\U0001f3fb\U0001f3fd\U0001f44d\U0001f62d\U0001f60d\U0001f525",
        30,
    ),
}  # fmt: skip
"""Beginnings of characters and their weights, some common characters, and the weight of each of those."""
_LIKELY = {
    "words": 24, "letters": 12, "addresses": 10, "hex": 8, "HEX": 3, "numbers": 10, "tokens": 4, "arabic": 5,
    "cyrillic": 5, "greek": 2, "hebrew": 2, "devanagari": 3, "thai": 2, "chinese": 6, "japanese": 3, "korean": 3,
    "emoji": 4,
}  # fmt: skip
_PIECE_OF_EXAMPLES, _MOST_PIECES = (2, 3), 150


def _weighed(listed: dict[int, str], end: int, space: int = 0) -> dict[bytes, int]:
    """The symbols of lists, which are separated by spaces, with the weights of their lists; the end mark; the space."""
    found = {symbol.encode(): weight for weight, several in listed.items() for symbol in several.split()}
    return found | {END: end} | ({b" ": space} if space else {})


def _addresses() -> dict[bytes, int]:
    """The symbols of the first code of texts, whose other letters begin a character here."""
    first = dict(zip(symbols.octets(), symbols.weights(), strict=True))
    kept = {symbol: weight for symbol, weight in first.items() if len(symbol) != 1 or symbol[0] < 0x80}
    return dict.fromkeys(_LEADS, 4) | {b"\xc3": 12} | kept


def _script(letters: str) -> dict[bytes, int]:
    common = {letter.encode(): 2_000 // (rank + 5) for rank, letter in enumerate(letters, 1)}
    begun = dict.fromkeys({symbol[: 1 if symbol[0] < 0xE0 else 2] for symbol in common}, 20)
    return begun | _weighed({8: _DIGITS, 6: "- ."}, 700, 250) | common


def _wide(begun: dict[bytes, int], common: str, weight: int) -> dict[bytes, int]:
    ascii_signs = dict.fromkeys(_ASCII[33:127], 1)
    return ascii_signs | {b" ": 20} | begun | {sign.encode(): weight for sign in common} | {END: 350}


@cache
def usual() -> Books:
    """The books for every kind of text.

    >>> [usual().written(text.encode())[1] for text in ("tea", "0123456789ab", "chicken curry", "\u4f60\u597d")]
    [18, 59, 68, 24]
    """
    rare = dict.fromkeys(_ASCII, 1) | dict.fromkeys(_LEADS, 4) | {b"\xc3": 40}
    signs = [*string.ascii_letters, *string.digits, "-", "_"]
    tables = {
        "words": rare | _weighed(_WORDS, 1250, 500) | {b"s": 500},
        "letters": _weighed(_LETTERS, 900, 600),
        "addresses": _addresses(),
        "hex": _weighed({60: f"{_DIGITS} a b c d e f", 8: "-", 4: ":"}, 60),
        "HEX": _weighed({60: f"{_DIGITS} A B C D E F", 8: "-", 4: ":"}, 60),
        "numbers": _weighed(_NUMBERS, 150, 20),
        "tokens": _weighed({10: " ".join(signs), 3: ". / + = @ :"}, 40, 3),
    }
    tables |= {name: _script(letters) for name, letters in _SCRIPTS.items()}
    tables |= {name: _wide(*given) for name, given in _WIDE.items()}
    lengths = huffman_lengths(list(_LIKELY.values()))
    headers = Book(tuple(name.encode() for name in _LIKELY), lengths).words
    return Books(
        Book.weighed(table, f"{headers[name.encode()][0]:0{headers[name.encode()][1]}b}")
        for name, table in tables.items()
    )


def of_alphabet(alphabet: str) -> Books:
    """One book with these characters, all alike; other characters cannot be written.

    >>> of_alphabet("01").written(b"0110")
    (206, 8)
    """
    if not isinstance(alphabet, str) or len(set(alphabet)) < 2 or len(set(alphabet)) < len(alphabet):
        raise InvalidInputError("an alphabet is a text of two or more different characters, such as '0123456789abcdef'")
    try:
        signs = {sign.encode() for sign in alphabet}
    except UnicodeEncodeError:
        raise InvalidInputError("an alphabet has characters of Unicode only") from None
    return Books([Book.weighed(dict.fromkeys([*signs, END], 1))])


def of_examples(examples: Iterable[str]) -> Books:
    """One book whose weights are counted in public examples; every other text can be written too, with more bits.

    Short pieces that occur often get symbols of their own.

    >>> books = of_examples(["tea", "green tea", "black tea"])
    >>> books.written(b"tea")[1] < usual().written(b"tea")[1]
    True
    """
    texts = [examples] if isinstance(examples, str | bytes) else list(examples)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInputError("examples are a list of texts that anybody may know, such as ['tea', 'green tea']")
    try:
        written = [text.encode() for text in texts]
    except UnicodeEncodeError:
        raise InvalidInputError("examples are texts of Unicode only") from None
    pieces = Counter(
        piece.encode()
        for text in texts
        for size in _PIECE_OF_EXAMPLES
        for piece in (text[start : start + size] for start in range(len(text) - size + 1))
    )
    often = [piece for piece, number in pieces.most_common(_MOST_PIECES) if number > 2]
    known = {sign.encode() for text in texts for sign in text} | set(often)
    rare = dict.fromkeys([*_ASCII, *_LEADS], 1)
    trial = Book.weighed(rare | dict.fromkeys(known, 1) | {END: 1})
    counted: Counter[bytes] = Counter({END: 16 * len(written)})
    for text in written:
        start = 0
        while start < len(text):
            symbol = trial.next_symbol(text, start)
            counted[symbol] += 16
            start += len(symbol) + trial.missing(symbol)
    return Books([Book.weighed(rare | dict.fromkeys(known, 8) | dict(counted))])
