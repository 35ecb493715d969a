"""Damaged Parquet and Arrow files are refused, or give the number of reports and values that were written."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pyarrow as pa
import pytest
from sample_files import EXTENSIONS, TYPED, all_indices, report_table, write_column, write_typed

import localdp as ldp
from localdp import files
from localdp.errors import ArchiveError, DataFileError
from localdp.files import arrow

_ALTER_EVERY_BYTE = """
import pathlib, random, sys
import localdp as ldp
from localdp import files
folder, extension = pathlib.Path(sys.argv[1]), sys.argv[2]
files.columns.PIECE_BYTES = int(sys.argv[3])
whole = (folder / f"whole.{extension}").read_bytes()
plan = ldp.Plan.from_json((folder / "plan.json").read_text())
def read(path):
    if sys.argv[4] == "reports":
        return sum(len(reports) for reports in files.read_reports(path, plan))
    return sum(len(indices) for indices in files.indices(path, "item", ldp.Domain(["a", "b"])))
assert read(folder / f"whole.{extension}") == 40
altered, chance, refused = folder / f"altered.{extension}", random.Random(1), 0
for place in 4 * list(range(len(whole))):
    octets = bytearray(whole)
    octets[place] ^= chance.randrange(1, 256)
    altered.unlink(missing_ok=True)
    altered.write_bytes(octets)
    try:
        found = read(altered)
    except ldp.errors.LocalDPError as error:
        refused += 1
        assert len(str(error).splitlines()) == 1
    else:
        assert found == 40, (place, octets[place], found)
print(refused)
"""


@pytest.mark.parametrize("kind", ["reports", "reports in small pieces", "values", "dictionary"])
@pytest.mark.parametrize("extension", TYPED)
def test_a_file_with_any_byte_altered_is_read_whole_or_refused_in_words(tmp_path, extension, kind):
    """In a process of its own, because a library that aborts ends the process without an exception."""
    plan = ldp.Plan(41, "oue", 1.0)
    (tmp_path / "plan.json").write_text(plan.to_json())
    path = tmp_path / f"whole.{extension}"
    if kind.startswith("reports"):
        with files.reports_writer(path, plan) as write:
            write(plan.privatize([1] * 20, seed=1))
            write(plan.privatize([2] * 20, seed=2))
    else:
        values = pa.array(["a", "b"] * 20)
        table = pa.table({"x": range(40), "item": values.dictionary_encode() if kind == "dictionary" else values})
        write_typed(table, path, rows=20)
    piece_bytes = 60 if "small" in kind else 1 << 26
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _ALTER_EVERY_BYTE, tmp_path, extension, str(piece_bytes), kind.split()[0]],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def _footer(whole):
    """The place of an Arrow file's footer, and within the footer the distance of the field that lists the batches."""
    (length,) = struct.unpack("<i", whole[-10:-6])
    start = len(whole) - 10 - length
    (table,) = struct.unpack_from("<I", whole, start)
    fields = table - struct.unpack_from("<i", whole, start + table)[0]
    return start, table, start + fields + 4 + 2 * 3


def _places_of_the_batches(whole):
    """Where an Arrow file's footer has the number of batches, followed by a note of 24 bytes on each."""
    start, table, slot = _footer(whole)
    field = start + table + struct.unpack_from("<H", whole, slot)[0]
    return field + struct.unpack_from("<I", whole, field)[0]


def _hide_the_list(octets):
    struct.pack_into("<H", octets, _footer(octets)[2], 0)


def _count_one_batch_less(octets):
    place = _places_of_the_batches(octets)
    struct.pack_into("<I", octets, place, struct.unpack_from("<I", octets, place)[0] - 1)


def _list_the_first_batch_twice(octets):
    place = _places_of_the_batches(octets) + 4
    octets[place + 24 : place + 48] = octets[place : place + 24]


@pytest.mark.parametrize("change", [_hide_the_list, _count_one_batch_less, _list_the_first_batch_twice])
@pytest.mark.parametrize("kind", ["reports", "values"])
def test_an_arrow_footer_that_hides_or_repeats_batches_is_refused(tmp_path, change, kind):
    plan = ldp.Plan(41, "oue", 1.0)
    path = tmp_path / "some.arrow"
    if kind == "reports":
        write_typed(report_table(plan, [row.tobytes() for row in plan.privatize([1] * 9).rows]), path, rows=3)
    else:
        write_column(path, ["a", "b", "a"] * 3)
    octets = bytearray(path.read_bytes())
    change(octets)
    path.write_bytes(octets)
    with pa.memory_map(str(path)) as source:  # Arrow itself does not notice
        assert pa.ipc.open_file(source).num_record_batches in (0, 2, 3)
    with pytest.raises(DataFileError, match="disagree about where the batches of rows are"):
        list(files.read_reports(path, plan)) if kind == "reports" else all_indices(path, "item", ["a", "b"])


def test_an_arrow_file_with_other_columns_in_its_footer_is_refused(tmp_path):
    path = write_typed(pa.table({"item": [1, 2]}), tmp_path / "some.arrow")
    whole = path.read_bytes()
    head, name, tail = whole.rpartition(b"item")
    path.write_bytes(head + b"stem" + tail)
    assert name
    with pytest.raises(DataFileError, match="its footer and its messages disagree about the columns"):
        all_indices(path, None, [1, 2])


def test_an_arrow_file_that_begins_with_an_unknown_message_is_refused(tmp_path, monkeypatch):
    """Arrow may crash if it reads a schema from such a message, so it must not be asked to."""
    path = write_typed(pa.table({"item": [1, 2]}), tmp_path / "some.arrow")
    octets = bytearray(path.read_bytes())
    (table,) = struct.unpack_from("<I", octets, 16)
    fields = table - struct.unpack_from("<i", octets, 16 + table)[0]
    kind = 16 + table + struct.unpack_from("<H", octets, 16 + fields + 4 + 2)[0]  # field 1: the kind of the message
    assert octets[kind] == 1
    octets[kind] = 9
    path.write_bytes(octets)
    monkeypatch.setattr(pa.ipc, "read_schema", lambda _: pytest.fail("Arrow was asked to read a schema"))
    with pytest.raises(DataFileError, match="disagree about the columns"):
        all_indices(path, "item", [1, 2])


@pytest.mark.parametrize("extension", TYPED)
def test_names_of_columns_that_are_not_text_are_refused(tmp_path, extension):
    path = write_typed(pa.table({"item": [1, 2]}), tmp_path / f"some.{extension}")
    path.write_bytes(path.read_bytes().replace(b"item", b"\xe5tem"))
    with pytest.raises(DataFileError, match=r"file that can be read|no column 'item'"):
        all_indices(path, "item", [1, 2])


def test_an_arrow_batch_that_contradicts_its_columns_is_refused(tmp_path):
    path = write_typed(pa.table({"item": [1, 2] * 10}), tmp_path / "some.arrow")
    octets = bytearray(path.read_bytes())
    rows = struct.pack("<q", 20)
    places = [place for place in range(len(octets)) if octets[place : place + 8] == rows]
    assert len(places) >= 2  # the number of rows of the batch, and that of its column
    for place in places:
        changed = octets.copy()
        changed[place] = 18
        path.write_bytes(changed)
        with pytest.raises(DataFileError, match="not an Arrow file that can be read"):
            all_indices(path, None, [1, 2])


@pytest.mark.parametrize("filled", [0, 56])
@pytest.mark.parametrize("end_mark", [True, False])
def test_arrow_files_laid_out_by_other_writers_are_read(tmp_path, filled, end_mark):
    """Some writers begin the messages at byte 64 instead of 8, and some leave the mark after the messages out."""
    path = write_column(tmp_path / "some.arrow", pa.array(["a", "b", "b"] * 3).dictionary_encode())
    octets = bytearray(path.read_bytes())
    start, _, _ = _footer(octets)
    place = _places_of_the_batches(octets)
    places = [place + 4 + 24 * batch for batch in range(3)]
    (dictionary,) = arrow._listed(bytes(octets[start:-10]), 2)
    places.append(octets.index(struct.pack("<q", dictionary), start))
    for place in places:
        struct.pack_into("<q", octets, place, struct.unpack_from("<q", octets, place)[0] + filled)
    if not end_mark:
        assert octets[start - 8 : start] == b"\xff\xff\xff\xff\0\0\0\0"
        del octets[start - 8 : start]
    octets[8:8] = bytes(filled)
    path.write_bytes(octets)
    assert all_indices(path, "item", ["a", "b"]) == [0, 1, 1] * 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_pipe_named_like_a_data_file_is_refused_at_once(tmp_path, extension):
    """Opening it would wait for somebody to write to it, possibly for ever."""
    path = tmp_path / f"some.{extension}"
    os.mkfifo(path)
    sentence = "is a pipe, a device or a socket; a regular file is needed here"
    with pytest.raises(DataFileError, match=sentence):
        all_indices(path, None, ["a", "b"])
    with pytest.raises(DataFileError, match=sentence):
        files.items(path, None)
    with pytest.raises(DataFileError, match=sentence):
        list(files.read_reports(path, ldp.Plan(4, "grr", 1.0)))
    with pytest.raises(ArchiveError, match=sentence):
        ldp.Aggregate.load(path)


def test_a_link_to_a_device_is_refused_and_a_link_to_a_file_is_read(tmp_path):
    write_column(tmp_path / "some.csv", ["a", "b"])
    (tmp_path / "link.csv").symlink_to(tmp_path / "some.csv")
    assert all_indices(tmp_path / "link.csv", "item", ["a", "b"]) == [0, 1]
    (tmp_path / "zeros.csv").symlink_to("/dev/zero")
    with pytest.raises(DataFileError, match="a regular file is needed"):
        all_indices(tmp_path / "zeros.csv", "item", ["a", "b"])


def test_a_file_that_is_one_long_name_is_refused_in_a_short_message(tmp_path):
    (tmp_path / "some.csv").write_bytes(b"x" * 100_000 + b"\n")
    with pytest.raises(DataFileError, match=r"no column 'item': it has 'x{60}'$"):
        all_indices(tmp_path / "some.csv", "item", ["a", "b"])
    write_typed(pa.table({"two\nlines": [1], "other": [2]}), tmp_path / "some.arrow")
    with pytest.raises(
        DataFileError, match=r"\('two\\nlines', 'other'\): say which holds the items, such as --column 'other'$"
    ):
        all_indices(tmp_path / "some.arrow", None, ["a", "b"])


def test_a_cut_csv_file_is_noticed_inside_a_line_and_always_if_it_is_compressed(tmp_path):
    plan = ldp.Plan(41, "oue", 1.0)
    for extension in ("csv", "csv.gz"):
        path = tmp_path / f"some.{extension}"
        with files.reports_writer(path, plan) as write:
            write(plan.privatize([1] * 5))
        whole = path.read_bytes()
        for left in range(len(whole)):
            path.write_bytes(whole[:left])
            lines = whole[:left].removesuffix(b"\n").split(b"\n") if extension == "csv" else []
            if lines and lines[-1] in whole.splitlines():  # cut where a line ends
                assert sum(map(len, files.read_reports(path, plan))) == len(lines) - 1
            else:
                with pytest.raises(ldp.LocalDPError, match=r"csv|base64|bytes"):
                    list(files.read_reports(path, plan))
