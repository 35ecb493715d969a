"""Aggregates: counts that can be added in any order, and files that notice damage."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp.errors import (
    ArchiveError,
    InvalidInputError,
    PlanMismatchError,
)
from localdp.formats import aggregate_file
from localdp.mechanisms import MECHANISMS

NAMES = list(MECHANISMS)


@pytest.fixture
def plan():
    return ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0)


def test_bytes_are_to_be_read_first(plan):
    with pytest.raises(InvalidInputError, match=r"plan\.read"):
        plan.aggregate(plan.privatize(["tea"]).to_bytes())


def test_saving_keeps_the_files_mode_and_names_a_missing_folder(plan, tmp_path):
    path = tmp_path / "counts"
    aggregate = plan.simulate([1, 2, 3], seed=1)
    aggregate.save(path)
    path.chmod(0o640)
    aggregate.save(path)
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError, match="no/counts"):
        aggregate.save(tmp_path / "no" / "counts")


@given(st.permutations(range(5)), st.sampled_from(NAMES), st.lists(st.integers(0, 19), min_size=5, max_size=5))
def test_merging_in_any_order_and_grouping_is_the_same(order, name, cuts):
    plan = ldp.Plan(9, mechanism=name, epsilon=0.5)
    reports = plan.privatize(np.arange(20) % 9, seed=3)
    edges = [0, *sorted(cuts[:4]), 20]
    parts = [plan.aggregate(reports[edges[k] : edges[k + 1]]) for k in range(5)]
    left = ldp.Aggregate(plan)
    for k in order:
        left.merge(parts[k])
    right = ldp.Aggregate(plan).merge(ldp.Aggregate(plan).merge(parts[order[0]]).merge(parts[order[1]]))
    for k in order[2:]:
        right.add(reports[edges[k] : edges[k + 1]])
    assert left == right == plan.aggregate(reports)
    assert left.counts.dtype == np.int64


def test_strangers_are_not_merged(plan):
    other = ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=2.0)
    with pytest.raises(PlanMismatchError, match="mean different things"):
        plan.aggregate(other.privatize(["tea"]))
    with pytest.raises(PlanMismatchError, match="mean different things"):
        plan.aggregate(plan.privatize(["tea"])).merge(other.aggregate(other.privatize(["tea"])))


@pytest.mark.parametrize(
    ("counts", "n", "sentence"),
    [
        ([1, 2], 3, "between 0 and n = 3, one for each of the 3 items"),
        ([1, 2, -1], 3, "between 0 and n = 3"),
        ([1, 2, 4], 3, "between 0 and n = 3"),
        ([[1, 2, 3]], 3, "one for each of the 3 items"),
        ([1.5, 2, 3], 3, "must be a whole number"),
        ([1, 2, float("nan")], 3, "must be a whole number"),
        (["a", "b", "c"], 3, "must be a whole number"),
        ([1, 2, 2**70], 3, "must be a whole number"),
        ([1, 2, 3], 3.5, "a whole number, not 3.5"),
        ([1, 2, 3], "3", "a whole number, not '3'"),
        ([1, 2, 3], True, "a whole number, not True"),
        ([1, 2, 3], float("nan"), "a whole number, not nan"),
        ([1, 2, 3], 2**53, r"at most 2\^53, and cannot be 9007199254740992"),
        ([1, 2, 3], -3, "cannot be -3"),
    ],
)
def test_aggregate_refuses_impossible_counts(plan, counts, n, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        ldp.Aggregate(plan, counts, n)


def test_aggregate_never_overflows(plan):
    most = 2**53 - 1
    full = ldp.Aggregate(plan, [most] * 3, most)
    with pytest.raises(InvalidInputError, match=r"at most 2\^53"):
        full.merge(ldp.Aggregate(plan, [1, 1, 1], 1))
    with pytest.raises(InvalidInputError, match=r"at most 2\^53"):
        full.add(plan.privatize(["tea"]))
    assert full == ldp.Aggregate(plan, [most] * 3, most)


@pytest.mark.parametrize("stranger", [None, 5, "reports", np.zeros(3)])
def test_only_reports_are_added_and_only_aggregates_merged(plan, stranger):
    with pytest.raises(InvalidInputError, match=f"expected Reports, not {type(stranger).__name__}"):
        ldp.Aggregate(plan).add(stranger)
    with pytest.raises(InvalidInputError, match=f"expected Aggregate, not {type(stranger).__name__}"):
        ldp.Aggregate(plan).merge(stranger)


def test_the_errors_say_how_reports_are_made_and_counted(plan):
    with pytest.raises(InvalidInputError, match=r"not list; plan.privatize\(values\) makes reports of values$"):
        plan.aggregate(["tea"])
    with pytest.raises(InvalidInputError, match=r"not bytes; read bytes with plan.read first$"):
        plan.aggregate(b"tea")
    other = ldp.Plan(["a", "b"], epsilon=1.0)
    with pytest.raises(ldp.errors.PlanMismatchError, match=r"; count each under its own plan$"):
        plan.aggregate(other.privatize(["a"]))


def test_numpy_integers_are_users_too(plan, tmp_path):
    ldp.Aggregate(plan, np.array([1, 2, 3]), np.int64(5)).save(tmp_path / "counts")
    assert ldp.Aggregate.load(tmp_path / "counts").n == 5


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "not a usable aggregate: unpack requires a buffer of 4 bytes"),
        (b"\xff\xff\xff\xff", "not a usable aggregate: Expecting value"),
        (struct.pack("<I", 1) + b"{", "not a usable aggregate: Expecting property name"),
        (struct.pack("<I", 2) + b"{}", "other keys than n, plan and sources"),
        (struct.pack("<I", 2) + b"[]", "other keys than n, plan and sources"),
        (struct.pack("<I", 2) + b"[]" + b"123", "not a usable aggregate: buffer size must be a multiple"),
        (struct.pack("<I", 9) + b'{"n":NaN}', "NaN has no place in JSON"),
        (struct.pack("<I", 16) + b'{"n":1,"plan":2}', "not a usable aggregate: this is not a plan"),
    ],
)
def test_file_with_a_good_checksum_and_a_bad_content_is_refused(body, sentence, tmp_path):
    content = b"LDPAGG1\n" + body
    (tmp_path / "counts").write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(ArchiveError, match=sentence):
        ldp.Aggregate.load(tmp_path / "counts")


def test_aggregate_survives_its_file(plan, tmp_path):
    aggregate = plan.simulate([10, 20, 30], seed=1)
    path = tmp_path / "counts.ldp"
    aggregate.save(path)
    assert ldp.Aggregate.load(path) == aggregate
    assert b"pickle" not in path.read_bytes()
    aggregate.add(plan.privatize(["tea"])).save(path)
    assert ldp.Aggregate.load(path).n == 61
    assert [file.name for file in tmp_path.iterdir()] == ["counts.ldp"]


def test_every_altered_bit_and_every_cut_is_noticed(plan, tmp_path):
    path = tmp_path / "counts.ldp"
    plan.simulate([10, 20, 30], seed=1).save(path)
    good = path.read_bytes()
    for place in range(len(good)):
        sentence = "not a saved aggregate" if place < 8 else "cut short or altered"
        path.write_bytes(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
        with pytest.raises(ArchiveError, match=sentence):
            ldp.Aggregate.load(path)
        path.write_bytes(good[:place])
        with pytest.raises(ArchiveError, match=sentence):
            ldp.Aggregate.load(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(ArchiveError, match="cut short or altered"):
        ldp.Aggregate.load(path)


def test_a_save_that_fails_leaves_the_old_file(plan, tmp_path, monkeypatch):
    path = tmp_path / "counts.ldp"
    plan.simulate([10, 20, 30], seed=1).save(path)
    before = path.read_bytes()

    def fail(_):
        raise OSError("no space left on device")

    monkeypatch.setattr("localdp.formats.aggregate_file.os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        plan.simulate([1, 1, 1], seed=1).save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_what_was_counted_is_remembered_and_not_merged_twice(tmp_path):
    plan = ldp.Plan(40, "oue", 2.0)
    one, two = plan.simulate([5] * 40, seed=1), plan.simulate([5] * 40, seed=2)
    one.save(tmp_path / "plain.agg")
    one.sources, two.sources = frozenset(["a", "b"]), frozenset(["b", "c"])
    one.save(tmp_path / "one.agg")
    assert ldp.Aggregate.load(tmp_path / "one.agg").sources == {"a", "b"}
    assert ldp.Aggregate.load(tmp_path / "plain.agg").sources == frozenset()
    assert b"sources" not in (tmp_path / "plain.agg").read_bytes()
    with pytest.raises(InvalidInputError, match="the same people would be counted twice"):
        one.merge(two)
    assert one.n == 200
    assert one.merge(two, repeated=True).sources == {"a", "b", "c"}
    assert one.n == 400


@pytest.mark.parametrize("sources", [5, "a", [1], {"a": 1}])
def test_sources_that_are_no_list_of_text_are_refused(tmp_path, sources):
    plan = ldp.Plan(4, "oue", 2.0)
    header = {"n": 0, "plan": plan._document(), "sources": sources}
    aggregate_file.save(tmp_path / "x.agg", header, np.zeros(4, np.int64))
    with pytest.raises(ArchiveError, match="its sources are not a list of text"):
        ldp.Aggregate.load(tmp_path / "x.agg")
