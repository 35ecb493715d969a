"""Values as bits: what can be written comes back, and what cannot is outside."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localdp.discovery.books import IMPOSSIBLE
from localdp.discovery.codes import Keys, Text, code_named
from localdp.discovery.symbols import END, first_books, octets
from localdp.errors import InvalidInputError


def bits_of(row, length):
    return f"{int.from_bytes(row.tobytes(), 'big'):0{8 * row.size}b}"[:length]


FIRST = first_books().books[0]


def symbols_of(text):
    """A text as symbols of the first code, with the end mark."""
    found, start = [], 0
    while start < len(text):
        found.append(FIRST.next_symbol(text, start))
        start += len(found[-1])
    return [*found, b""]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([octets()[symbol] for symbol in range(32, len(octets()))]), max_size=12))
def test_every_text_is_written_in_one_way(pieces):
    text = b"".join(pieces)
    symbols = symbols_of(text)
    assert b"".join(symbols) == text
    assert all(FIRST.is_written_so(symbols[:count], text) for count in range(len(symbols) + 1))
    given_so = [piece for piece in pieces if piece] + [b""]
    assert FIRST.is_written_so(given_so, text) == (given_so == symbols)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_texts_come_back(texts):
    code = Text(most_bytes=32)
    encoded = code.encode(texts)
    columns = (column[encoded.places] for column in (encoded.rows, encoded.lengths, encoded.outside))
    for row, length, out, text in zip(*columns, texts, strict=True):
        assert out == (not text.isascii() and "\ud800" <= max(text) <= "\udfff")
        if length <= 192:
            assert code.decode(row.tobytes(), int(length)) == text


@pytest.mark.parametrize("bits", [1, 8, 13, 48, 64])
def test_keys_come_back(bits):
    code, keys = Keys(bits), [0, 1, (1 << bits) - 1, 1 << (bits - 1)]
    for given_as in (keys, np.array(keys, np.uint64)):
        encoded = code.encode(given_as)
        assert [code.decode(row.tobytes(), bits) for row in encoded.rows] == keys
        assert not encoded.outside.any()


def test_the_highest_bit_of_a_key_comes_first():
    assert bits_of(Keys(13).encode([1 << 12]).rows[0], 13) == "1" + "0" * 12


@pytest.mark.parametrize(
    "value",
    [None, float("nan"), "x" * 33, "\u00e9" * 17, "a\ud800", b"\xff\xfe", b"\xc3"],
    ids=lambda value: repr(value)[:12],
)
def test_texts_that_cannot_be_written_are_outside(value):
    assert Text(most_bytes=32).encode([value, "tea"]).outside.tolist() == [True, False]


def test_the_empty_text_and_the_longest_one_are_values_like_any_other():
    code = Text(most_bytes=4)
    encoded = code.encode(["", "\u00e9\u00e9", "abcd", "\U0001f375", b"tea"])
    assert not encoded.outside.any()
    decoded = [
        code.decode(row.tobytes(), int(length)) for row, length in zip(encoded.rows, encoded.lengths, strict=True)
    ]
    assert decoded == ["", "\u00e9\u00e9", "abcd", "\U0001f375", "tea"]


@pytest.mark.parametrize("value", [None, -1, 1 << 48, 1 << 70])
def test_numbers_that_are_no_keys_are_outside(value):
    assert Keys(48).encode([value, 5]).outside.tolist() == [True, False]
    if value is not None and value < 1 << 63:
        assert Keys(48).encode(np.array([value, 5])).outside.tolist() == [True, False]


@pytest.mark.parametrize(
    ("code", "values", "message"),
    [
        (Text(8), ["tea", 5], "every value must be a text, and 5 is not"),
        (Text(8), "tea", "one text for each user"),
        (Text(8), 7, "one text for each user"),
        (Keys(8), [1, "2"], "every key must be a whole number, and '2' is not"),
        (Keys(8), [1, True], "every key must be a whole number, and True is not"),
        (Keys(8), [1.5], "every key must be a whole number, and 1.5 is not"),
        (Keys(8), 7, "one key for each user"),
        (Keys(8), np.zeros((2, 2), np.int64), "a table was given"),
    ],
)
def test_values_of_another_kind_are_refused(code, values, message):
    with pytest.raises(InvalidInputError, match=message):
        code.encode(values)


@pytest.mark.parametrize("bits", [0, 65, 1.5, "48"])
def test_keys_have_1_to_64_bits(bits):
    with pytest.raises(InvalidInputError, match="the number of bits of a key must be a whole number from 1 to 64"):
        Keys(bits)


def test_the_code_of_texts_is_complete_and_no_word_begins_another():
    words = sorted(f"{word:0{size}b}" for word, size in FIRST.words.values())
    assert sum(2.0**-size for size in FIRST.lengths) == 1
    assert not any(later.startswith(word) for word, later in pairwise(words))
    assert len(words) == len(octets()) > END
    assert max(FIRST.lengths) <= 16


def test_common_words_take_few_bits():
    lengths = Text(64).encode(["the", "because", "internet", "https://docs.python.org/3/library/os.html"]).lengths
    assert lengths.tolist() == [11, 38, 37, 127]


@pytest.mark.parametrize("bits", [0, 1, 5, 12])
def test_states_behind_all_extensions_are_those_of_the_bits_one_by_one(bits):
    code = Text(16)
    row = code.encode(["tea"]).rows[0].tobytes()
    for length in (0, 3, 11, 15, 20):
        state = code.state_of(row, length)
        for extension, behind in enumerate(code.extended(state, bits).tolist()):
            number = int.from_bytes(row, "big") >> (192 - length) << bits | extension
            longer = (number << (192 - length - bits)).to_bytes(24, "big")
            assert code.state_of(longer, length + bits) == behind


def test_behind_the_end_mark_there_are_only_zeros():
    code = Text(16)
    encoded = code.encode(["tea"])
    ended = code.state_of(encoded.rows[0].tobytes(), int(encoded.lengths[0]))
    behind = code.extended(ended, 3)
    assert code.is_final(behind, 20).tolist() == [True] + [False] * 7
    assert (behind[1:] == IMPOSSIBLE).all()


def test_bytes_that_no_text_begins_with_are_not_plausible():
    code, words = Text(16), [FIRST.words[symbol] for symbol in octets()]

    def written(symbols):
        number = length = 0
        for symbol in symbols:
            number, length = number << words[symbol][1] | words[symbol][0], length + words[symbol][1]
        return (number << (192 - length)).to_bytes(24, "big"), length

    assert code.is_plausible(*written([0x61, 0xC3]))
    assert not code.is_plausible(*written([0x61, 0xC3, 0x61]))
    assert not code.is_plausible(*written([0xFF]))
    assert code.decode(*written([0xC3, END])) is None
    assert code.decode(*written([0x61])) is None
    assert code.shown_prefix(*written([0x61, 0x62, 0xC3])) == "ab..."
    assert Keys(8).shown_prefix(b"\xa0", 3) == "101..."


def test_codes_are_read_from_their_documents():
    for code in (Keys(48), Text(12)):
        assert code_named(code.document()).document() == code.document()
    for document in ({}, {"kind": "keys", "bits": 0}, Text(12).document() | {"code": [1, 2]}, {"kind": "text"}, None):
        with pytest.raises(InvalidInputError, match=r"values are keys with|the number of bits|most_bytes"):
            code_named(document)
