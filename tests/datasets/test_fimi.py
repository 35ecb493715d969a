"""Data from files: what is read, and what is refused with which sentence."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import SHARED

import localdp as ldp
from localdp.errors import DataFileError

transactions = st.lists(st.lists(st.integers(0, 40), max_size=8), min_size=1, max_size=30)


@given(
    lines=transactions, zipped=st.booleans(), ending=st.sampled_from(["\n", "\r\n", " \n"]), block=st.integers(1, 60)
)
def test_every_occurrence_is_counted_however_the_file_is_cut(tmp_path_factory, lines, zipped, ending, block):
    path = tmp_path_factory.mktemp("data") / "some.dat"
    text = ending.join(" ".join(map(str, line)) for line in lines).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if zipped else text)
    counts = np.unique([item for line in lines for item in line], return_counts=True)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localdp.formats.lines.whole_lines.__defaults__", (b"", block))
        if counts.size < 2:
            with pytest.raises(DataFileError, match=r"is empty|at least two"):
                ldp.datasets.read(path)
        else:
            data = ldp.datasets.read(path)
            assert data.frequencies.tolist() == sorted(counts.tolist(), reverse=True)
            assert (data.name, data.label) == ("some.dat", "some.dat")


def test_a_spectrum_is_expanded(tmp_path):
    path = tmp_path / "spectrum.csv"
    path.write_text("frequency,items\n1,3\n7,2\n0,1\n")
    assert ldp.datasets.read(path).frequencies.tolist() == [7, 7, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("some.csv", "milk,dark bread\n\nmilk, tea\n"),
        ("some.csv", '\ufeffmilk;"dark bread"\r\nmilk;tea;\r\n'),
        ("some.tsv", "milk\tdark bread\nmilk\ttea"),
        ("some.csv", "1 2\n1 3\n"),
        ("some.dat", "1 2\n1 3\n"),
        ("some.csv", "7,8\n7,9\n"),
    ],
)
def test_items_may_have_names_in_csv_files(tmp_path, name, text):
    (tmp_path / name).write_text(text, "utf-8")
    assert ldp.datasets.read(tmp_path / name).frequencies.tolist() == [2, 1, 1]
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert ldp.datasets.read(tmp_path / f"{name}.gz").frequencies.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"1 1 1\n", "at least two"),
        (b"\x00\x01\xff", "line 1 of bad.dat has '\\\\x00'"),
        (b"1 2 3\n4 -5 6\n", "line 2 of bad.dat has '-'"),
        (b"1 2 3\n4 5\n6,7\n", "line 3 of bad.dat has ','"),
        (b"1 2\t3\n", "'\\\\t'"),
        (b"1 2.5\n", "'.'"),
        (b"1 2\n1234567890123456789\n", "line 2 of .* has a number of more than 18 digits"),
        (b"frequency,items\n", "no items"),
        (b"frequency,items\n3,-1\n", "line 2 of bad.dat is '3,-1'"),
        (b"frequency,items\n3;4\n", "separated by a comma"),
        (b"frequency,items\n3,4,5\n", "two whole numbers"),
        (b"frequency,items\n1,99999999999\n", "more than can be counted"),
        (b"frequency,items\n" + 10 * b"0,999999999999999999\n", "more than can be counted"),
        (gzip.compress(b"1 2 3\n" * 500, mtime=0)[:-20], "cut short"),
        (b"\x1f\x8bnot gzip at all", "not a whole gzip file"),
    ],
)
def test_what_is_not_such_a_file_is_refused_with_the_place(tmp_path, content, sentence):
    path = tmp_path / "bad.dat"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=sentence):
        ldp.datasets.read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataFileError, match=r"nothing\.dat cannot be read: No such file"):
        ldp.datasets.read(tmp_path / "nothing.dat")
    with pytest.raises(DataFileError, match="cannot be read"):
        ldp.datasets.read(tmp_path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the transactions of Retail and Kosarak are not on this machine")
@pytest.mark.parametrize("name", ["retail", "kosarak-100k"])
def test_transactions_give_what_the_shipped_spectrum_gives(name):
    from localdp.experiments.measures.trials import run
    from localdp.experiments.tasks import Task

    data = ldp.datasets.read(SHARED / f"{name}.dat.gz")
    shipped = ldp.datasets.load(name)
    assert np.array_equal(data.frequencies, shipped.frequencies)
    if name == "retail":
        assert run(Task(data, "oue", 4.0, (1.0,))) == run(Task(shipped, "oue", 4.0, (1.0,)))
