"""Canonical JSON: one text for each value, the same in every language, and the fast writer against the plain one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.formats import canonical_json

SHORT_ESCAPES = {8: r"\b", 9: r"\t", 10: r"\n", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\"}

any_text = st.text(st.characters(exclude_categories=()))
"""Text of any code points, lone surrogates among them."""
awkward_text = st.text(
    st.sampled_from('a"\\/\0\x01\b\t\n\x1f\x7f\u2028\u2029\ud800\udc00é\uffff\U0001f375'), max_size=6
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text | awkward_text | st.just({1, 2})
lists = (
    st.lists(any_text)
    | st.lists(awkward_text)
    | st.lists(st.integers() | st.sampled_from([2**53 - 1, 1 - 2**53, 2**53, -(2**53)]))
    | st.lists(st.floats())
    | st.lists(scalars)
    | st.lists(st.sampled_from([0, 1, False, True, 0.0, -0.0, 1.0, "1"]))
)
documents = st.recursive(
    scalars | lists, lambda inner: st.lists(inner) | st.dictionaries(any_text, inner), max_leaves=8
)


def text_or_error(write, value):
    try:
        return write(value)
    except ValueError as error:
        return type(error), str(error)


@given(documents)
def test_lists_written_at_once_have_the_text_of_the_definition(value):
    assert text_or_error(canonical_json.dumps, value) == text_or_error(canonical_json.definition, value)


@pytest.mark.parametrize("kind", ["subclass of str", "subclass of int"])
def test_subclasses_are_written_as_the_definition_writes_them(kind):
    class Name(str):
        __slots__ = ()

        def __str__(self):
            return "something else"

    class Number(int):
        def __repr__(self):
            return "something else"

        __str__ = int.__repr__

    value = [Name("tea"), "milk"] if kind == "subclass of str" else [Number(3), 4]
    assert canonical_json.dumps(value) == canonical_json.definition(value)
    assert canonical_json.dumps(value) == ('["tea","milk"]' if kind == "subclass of str" else "[3,4]")


def test_every_character_is_written_as_rfc_8785_says():
    """RFC 8785, section 3.2.2.2: seven short escapes, lower-case \\u00xx below U+0020, all else as it is."""
    points = [*range(0xD800), *range(0xE000, 0x11000), 0x1F375, 0x10FFFF]
    expected = [SHORT_ESCAPES.get(point, f"\\u{point:04x}" if point < 0x20 else chr(point)) for point in points]
    assert canonical_json.dumps(list(map(chr, points))) == "[" + ",".join(f'"{sign}"' for sign in expected) + "]"
    assert canonical_json.dumps("".join(map(chr, points))) == f'"{"".join(expected)}"'


def test_keys_are_sorted_by_code_point_and_not_by_utf16_unit():
    tea, tilde = "\U0001f375", "\uff5e"
    assert canonical_json.dumps({tea: 1, tilde: 2}) == f'{{"{tilde}":2,"{tea}":1}}'
    assert sorted([tea, tilde], key=lambda key: key.encode("utf-16-be")) == [tea, tilde]


@given(st.dictionaries(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])), st.integers(0, 9)))
def test_without_characters_beyond_the_bmp_the_order_is_that_of_rfc_8785(value):
    by_unit = sorted(value, key=lambda key: key.encode("utf-16-be"))
    assert list(json.loads(canonical_json.dumps(value))) == by_unit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.25e22, "1.25e+22"),
        (-12.5, "-12.5"),
        (5e-324, "5e-324"),
        (2**53 - 1, "9007199254740991"),
        ([], "[]"),
        ({}, "{}"),
        ([1, 2], "[1,2]"),
        ([True, 1], "[true,1]"),
        (("é", "\x7f\u2028"), '["é","\x7f\u2028"]'),
        ({"b": 1, "a": [True, None, "é\n"]}, '{"a":[true,null,"é\\n"],"b":1}'),
    ],
)
def test_canonical_json_writes_numbers_as_ecmascript_does(value, text):
    assert canonical_json.dumps(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_canonical_numbers_read_back(value):
    assert float(json.loads(canonical_json.dumps(value))) == value


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (float("nan"), "nan has no place in JSON"),
        (float("inf"), "inf has no place in JSON"),
        (2**53, "9007199254740992 is past 2"),
        (-(2**53), "-9007199254740992 is past 2"),
        ("\ud800", "surrogates not allowed"),
        ({1, 2}, r"\{1, 2\} has no place in JSON"),
        (b"tea", "b'tea' has no place in JSON"),
    ],
)
def test_canonical_json_refuses_what_others_cannot_read(value, sentence, nested):
    with pytest.raises(ValueError, match=sentence):
        canonical_json.dumps({"items": [value, value]} if nested else value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a":1,"a":1}', "a key is there twice"),
        ('[{"a":{"b":1,"b":2}}]', "a key is there twice"),
        ("[NaN]", "NaN has no place in JSON"),
        ("[-Infinity]", "-Infinity has no place in JSON"),
        (b'"\xff"', "invalid start byte"),
        (b'\xff\xfe"\x00"\x00', "invalid start byte"),
        ("", "Expecting value"),
        ("[1] 2", "Extra data"),
        (None, "not JSON"),
        ("[" * 100_000, "not JSON: it is nested too deeply"),
        ("\ufeff[1]", "begins with a byte order mark"),
        ("9" * 5_000, "has thousands of digits"),
    ],
)
def test_what_readers_may_disagree_on_is_not_read(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        canonical_json.loads(text)


def test_a_lone_surrogate_is_not_unicode():
    assert canonical_json.is_unicode("tea 🍵\0")
    assert not canonical_json.is_unicode("\ud83c" + "\udf75")
