"""Streams in blocks of whole lines."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.errors import DataFileError
from localdp.formats import lines
from localdp.formats.lines import whole_lines

text = st.text(st.sampled_from("ab\n\r"), max_size=40).map(str.encode)


@given(text, text, st.integers(1, 50))
def test_blocks_are_the_stream_cut_after_newlines(begun, content, size):
    blocks = list(whole_lines(io.BytesIO(content), begun, size))
    assert b"".join(blocks) == begun + content
    assert all(blocks)
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@pytest.mark.parametrize(
    ("content", "size", "blocks"),
    [
        (b"", 4, []),
        (b"\n", 4, [b"\n"]),
        (b"one", 4, [b"one"]),
        (b"one\n", 4, [b"one\n"]),
        (b"one\ntwo", 4, [b"one\n", b"two"]),
        (b"a\nb\nc\nd\n", 4, [b"a\nb\n", b"c\nd\n"]),
        (b"a long line\nb\n", 4, [b"a long line\n", b"b\n"]),
        (b"a\nno newline at the end", 100, [b"a\n", b"no newline at the end"]),
    ],
)
def test_blocks(content, size, blocks):
    assert list(whole_lines(io.BytesIO(content), size=size)) == blocks


def test_what_was_read_already_comes_first():
    assert list(whole_lines(io.BytesIO(b"ree\nfour\n"), b"one\nth")) == [b"one\nthree\nfour\n"]
    assert list(whole_lines(io.BytesIO(b""), b"one")) == [b"one"]


@pytest.mark.parametrize("longer", [0, 1])
def test_a_line_that_is_too_long_is_refused(monkeypatch, longer):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    stream = io.BytesIO(b"a\n" + bytes((1 << 20) + longer))
    if longer:
        with pytest.raises(DataFileError, match="a line is longer than 1 MiB"):
            list(whole_lines(stream, size=1 << 10))
    else:
        assert len(list(whole_lines(stream, size=1 << 10))) == 2


def test_no_more_is_read_than_asked_for():
    stream = io.BytesIO(b"line\n" * 1000)
    assert next(whole_lines(stream, size=12)) == b"line\nline\n"
    assert stream.tell() == 12
