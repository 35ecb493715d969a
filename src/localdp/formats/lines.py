"""A stream of text in blocks that end where a line ends, so that a file of any size is read in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from localdp.errors import DataFileError

BLOCK = 1 << 23
"""The bytes read at once."""
LONGEST_LINE = 1 << 26
"""A longer line is an error: a binary file may have no line ends at all, and would be read whole."""


def whole_lines(stream: BinaryIO, begun: bytes = b"", size: int = BLOCK) -> Iterator[bytes]:
    """Yield the stream in blocks of whole lines, about `size` bytes each; the last line may lack its newline.

    `begun` is what the caller has read already. It is put in front.

    >>> import io
    >>> list(whole_lines(io.BytesIO(b"one\\ntwo\\nthree"), size=5))
    [b'one\\n', b'two\\n', b'three']
    """
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
