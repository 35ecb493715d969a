"""Books of symbols: texts of every script come back, and take as few bits as is said."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.discovery import library
from localdp.discovery.books import IMPOSSIBLE, Book, Books
from localdp.discovery.codes import Text, code_named, text_code
from localdp.errors import InvalidInputError

KINDS = {
    "0123456789ab": 59,
    "12345678": 37,
    "2026-11-18": 49,
    "192.168.10.25": 62,
    "+49 170 1234567": 72,
    "dQw4w9WgXcQ": 77,
    "https://docs.python.org/3/library/os.html": 131,
    "user@example.com": 70,
    "chicken curry": 68,
    "\U0001f602\U0001f44d": 19,
    "\U0001f1e9\U0001f1ea": 29,
    "\u0645\u0631\u062d\u0628\u0627": 33,
    "\u7535\u5f71\u7968": 46,
    "\u043f\u0440\u0438\u0432\u0435\u0442": 38,
}
"""Texts of many kinds, and the bits that they take: the first code needs up to four times as many."""


def row_of(books, text):
    number, length = books.written(text.encode())
    return (number << (2048 - length)).to_bytes(256, "big"), length


def test_texts_of_every_kind_take_few_bits():
    assert {text: library.usual().written(text.encode())[1] for text in KINDS} == KINDS


@settings(deadline=None, max_examples=80)
@given(st.one_of(st.text(max_size=12), st.sampled_from(list(KINDS)), st.from_regex(r"[0-9a-f]{0,14}", fullmatch=True)))
def test_every_text_comes_back_from_the_bits_of_its_shortest_book(text):
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        return
    books = library.usual()
    row, length = row_of(books, text)
    read = books.read(row, length)
    assert (read.text, read.ended) == (text.encode(), True)
    assert length == min(written[1] for book in books.books if (written := book.written(text.encode())))
    assert read.book.is_written_so(read.symbols, read.text)
    assert books.state_of(row, length) == books.end
    assert not books.read(row, length - 1).ended
    code = Text(64, books)
    assert code.decode(row[: code.row_bytes], length) == text or length > 512


def test_a_text_in_a_longer_book_than_its_own_is_no_value():
    books = library.usual()
    code = Text(16, books)
    shortest, *others = sorted(
        (book.written(b"0123") for book in books.books if book.written(b"0123")), key=lambda w: w[1]
    )
    rows = [((number << (192 - length)).to_bytes(24, "big"), length) for number, length in (shortest, *others)]
    assert [code.decode(*row) for row in rows] == ["0123", *[None] * len(others)]


def test_no_bits_lead_from_one_text_to_another():
    """Every word of two symbols or fewer is a path of the tree, and no two words have the same bits."""
    books = library.usual()
    seen = {}
    for book in books.books:
        for symbol in book.symbols:
            text = symbol.decode("utf-8", "ignore").encode()
            if text == symbol and (written := book.written(symbol)) is not None:
                assert seen.setdefault(written, (book.word, symbol)) == (book.word, symbol)
    paths = sorted(f"{number:0{length}b}" for number, length in seen)
    assert not any(later.startswith(path) for path, later in pairwise(paths))
    assert (books.extended(books.end, 4)[1:] == IMPOSSIBLE).all()


def test_characters_that_have_no_symbol_are_completed_from_their_first_byte():
    book = Book((b"", b"\xe4"), (1, 1))
    assert book.written("\u4f60".encode()) == (0b1_111101_100000_0, 14)
    assert Books([book]).read((0b1_111101_100000_0 << 2).to_bytes(2, "big"), 14).text == "\u4f60".encode()
    assert book.written(b"a") is None


def test_an_alphabet_takes_as_few_bits_as_it_has_and_leaves_the_rest_outside():
    code = text_code(16, alphabet="0123456789abcdef")
    encoded = code.encode(["00aa11bb22cc", "00aa11bb22cg"])
    assert 48 <= encoded.lengths[0] <= 12 * 5 + 5
    assert encoded.outside.tolist() == [False, True]
    assert code.decode(encoded.rows[0].tobytes(), int(encoded.lengths[0])) == "00aa11bb22cc"


def test_examples_make_texts_like_them_shorter_and_every_other_text_possible():
    code = text_code(32, examples=["green tea", "black tea", "white tea", "tea"] * 3)
    encoded = code.encode(["green tea", "\u4f60 Zebra"])
    assert encoded.lengths[0] < 0.6 * text_code(32).encode(["green tea"]).lengths[0]
    assert not encoded.outside.any()
    assert code.decode(encoded.rows[1].tobytes(), int(encoded.lengths[1])) == "\u4f60 Zebra"


@pytest.mark.parametrize("code", [text_code(), text_code(8, "ab"), text_code(9, examples=["a"], known=["b", "c"])])
def test_codes_with_books_are_read_from_their_documents(code):
    document = json.loads(json.dumps(code.document()))
    assert code_named(document).document() == code.document()
    assert code_named(document).encode(["ab"]).rows.tolist() == code.encode(["ab"]).rows.tolist()


@pytest.mark.parametrize(
    "books",
    [
        {},
        [],
        [{"word": "0"}],
        [{"word": "2", "symbols": {"1": ["", "61"]}}],
        [{"word": "", "symbols": {"1": ["61", "62"]}}],
        [{"word": "", "symbols": {"1": ["", "61", "62"]}}],
        [{"word": "", "symbols": {"0": [""]}}],
        [{"word": "", "symbols": {"1": ["", "xy"]}}],
        [{"word": "", "symbols": {"1": [""], "2": ["61", "61" * 256]}}],  # the time would tell how long a text is
        [{"word": "0", "symbols": {"1": ["", "61"]}}, {"word": "01", "symbols": {"1": ["", "61"]}}],
    ],
)
def test_other_books_are_refused(books):
    with pytest.raises(InvalidInputError, match="this is not a code of texts"):
        code_named({"kind": "text", "most_bytes": 8, "books": books})


def test_books_have_not_so_many_lengths_in_all_that_the_time_tells_how_long_a_text_is():
    def books(number):
        return [{"word": f"{n:06b}", "symbols": {"1": [""], "2": ["61", "61" * 20]}} for n in range(number)]

    code = code_named({"kind": "text", "most_bytes": 8, "books": books(51)})
    assert code.encode(["aa"]).lengths.tolist() == [6 + 2 + 2 + 1]
    with pytest.raises(InvalidInputError, match="this is not a code of texts"):
        code_named({"kind": "text", "most_bytes": 8, "books": books(52)})
