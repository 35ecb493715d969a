"""A stream of text in pieces that end where a line does, so that a file of any size is read in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from localdp.errors import DataFileError

BLOCK = 1 << 23
LONGEST_LINE = 1 << 26


def whole_lines(stream: BinaryIO, begun: bytes = b"", size: int = BLOCK) -> Iterator[bytes]:
    """The lines of a stream in pieces of about `size` bytes, after `begun`, which was read already."""
    rest = begun
    while block := stream.read(size):
        whole, newline, left = block.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = left
        else:
            rest += block
            if len(rest) > LONGEST_LINE:
                raise DataFileError(f"a line is longer than {LONGEST_LINE >> 20} MiB, so this is not a file of lines")
    if rest:
        yield rest
