"""Plans, reports and aggregates: the contract between device, collector and analyst."""

from __future__ import annotations

import hashlib
import json
import struct
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp.errors import (
    ArchiveError,
    DomainError,
    EmptyError,
    EpsilonError,
    FrequencyError,
    InvalidInputError,
    PlanError,
    PlanMismatchError,
    SeedError,
    UnknownItemError,
    WireError,
)
from localdp.mechanisms import MECHANISMS
from localdp.plan import Reports
from localdp.randomness import keystream

NAMES = list(MECHANISMS)


@pytest.fixture
def plan():
    return ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0)


def test_fingerprint_is_pinned(plan):
    """It is the plan's name on the wire: if this changes, every deployed device is orphaned."""
    assert plan.to_json() == (
        '{"domain":{"items":["tea","coffee","water"]},"epsilon":1,"format":"localdp-plan/1","mechanism":"oue",'
        '"parameters":{"keep":"9223372036854775808","noise":"4961093570831980854"},"width":64}'
    )
    assert plan.fingerprint == "21ac204a2351467ddaaace3248d545ae825d9e9692c3c925cbcc746e4de758a2"


@pytest.mark.parametrize("name", [*NAMES, "auto"])
@pytest.mark.parametrize("domain", [2, 1000, ["a", "b", "ü", "\n"], [5, 3, 9]])
def test_plan_survives_json(name, domain):
    plan = ldp.Plan(domain, mechanism=name, epsilon=0.5)
    again = ldp.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.mechanism == plan.mechanism
    assert again.domain == plan.domain
    spaced = json.dumps(json.loads(plan.to_json()), indent=2)
    assert ldp.Plan.from_json(spaced) == plan


def test_other_parameters_are_another_plan(plan):
    others = [
        ldp.Plan(["tea", "water", "coffee"], mechanism="oue", epsilon=1.0),
        ldp.Plan(3, mechanism="oue", epsilon=1.0),
        ldp.Plan(["tea", "coffee", "water"], mechanism="sue", epsilon=1.0),
        ldp.Plan(["tea", "coffee", "water"], mechanism="oue", epsilon=1.0000001),
    ]
    assert len({plan, *others}) == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("epsilon", 1.5),
        ("epsilon", "1"),
        ("width", 32),
        ("mechanism", "sue"),
        ("mechanism", "nonsense"),
        ("parameters", {"keep": "18446744073709551615", "noise": "1"}),
        ("parameters", {}),
        ("domain", {"items": ["tea", "coffee"], "size": 2}),
        ("domain", 3),
        ("format", "localdp-plan/2"),
        ("extra", 1),
        ("epsilon", float("nan")),
        ("epsilon", 10**400),
        ("domain", {"size": 10**30}),
        ("mechanism", ["oue"]),
    ],
)
def test_altered_plan_is_refused(plan, key, value):
    document = json.loads(plan.to_json()) | {key: value}
    with pytest.raises(PlanError):
        ldp.Plan.from_json(json.dumps(document))


def test_plan_with_a_key_twice_is_refused(plan):
    """A device whose parser keeps the first would use another threshold than the one that was checked."""
    text = '{"parameters":{"keep":"1","noise":"1"},' + plan.to_json()[1:]
    with pytest.raises(PlanError, match="twice"):
        ldp.Plan.from_json(text)


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_deeply_nested_plan_is_refused(plan, depth):
    text = plan.to_json()[:-1] + ',"extra":' + "[" * depth + "]" * depth + "}"
    with pytest.raises(PlanError):
        ldp.Plan.from_json(text)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", b"\xff", '{"format":"localdp-plan/1"}', None, 7])
def test_what_is_not_a_plan_is_refused(text):
    with pytest.raises(PlanError, match="not a plan"):
        ldp.Plan.from_json(text)


def test_an_empty_batch_is_not_written(plan):
    none = plan.privatize(["tea"])[1:]
    for write in (none.to_bytes, none.to_json):
        with pytest.raises(EmptyError, match="at least one"):
            write()
    assert plan.aggregate(none).n == 0


def test_bytes_are_to_be_read_first(plan):
    with pytest.raises(InvalidInputError, match=r"plan\.read"):
        plan.aggregate(plan.privatize(["tea"]).to_bytes())


def test_the_negative_frequency_is_named(plan):
    with pytest.raises(FrequencyError, match="item 1 has -1"):
        plan.simulate([3, -1, -5])


def test_saving_keeps_the_files_mode_and_names_a_missing_folder(plan, tmp_path):
    path = tmp_path / "counts"
    aggregate = plan.simulate([1, 2, 3], seed=1)
    aggregate.save(path)
    path.chmod(0o640)
    aggregate.save(path)
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError, match="no/counts"):
        aggregate.save(tmp_path / "no" / "counts")


def test_plan_asks_for_an_epsilon_in_words():
    with pytest.raises(EpsilonError, match="privacy budget"):
        ldp.Plan(3, "oue")
    with pytest.raises(InvalidInputError, match=r"epsilon=1\.0"):
        ldp.Plan(3, 1.0)
    with pytest.raises(InvalidInputError, match="size of the domain"):
        ldp.Plan(3, MECHANISMS["oue"](4, 1.0))


def test_plan_is_frozen(plan):
    with pytest.raises(AttributeError):
        plan.domain = ldp.Domain(3)


@pytest.mark.parametrize("name", NAMES)
def test_privatizing_is_secret_by_default_and_reproducible_by_seed(name):
    plan = ldp.Plan(50, mechanism=name, epsilon=0.5)
    values = np.arange(50)
    once, twice = plan.privatize(values), plan.privatize(values)
    assert not np.array_equal(once.rows, twice.rows)
    assert np.array_equal(plan.privatize(values, seed=7).rows, plan.privatize(values, seed=7).rows)
    assert not np.array_equal(plan.privatize(values, seed=7).rows, plan.privatize(values, seed=8).rows)


def test_default_randomness_is_the_operating_systems(plan, monkeypatch):
    keys = []
    monkeypatch.setattr(keystream.os, "urandom", lambda size: keys.append(size) or b"k" * size)
    plan.privatize(["tea"])
    plan.simulate([1, 2, 3])
    plan.privatize(["tea"], seed=1)
    assert keys == [16]


@pytest.mark.parametrize("values", [["tea", "beer"], [0], [None], "tea"])
def test_values_outside_the_domain_are_refused(plan, values):
    with pytest.raises(UnknownItemError):
        plan.privatize(values)


def test_nobody_is_refused(plan):
    with pytest.raises(EmptyError, match="no values"):
        plan.privatize([])
    with pytest.raises(EmptyError, match="n = 0"):
        ldp.Aggregate(plan).estimate()
    with pytest.raises(EmptyError, match="sum to 0"):
        plan.simulate([0, 0, 0])


@pytest.mark.parametrize("seed", [-1, 0.5, "x"])
def test_bad_seeds_are_refused(plan, seed):
    with pytest.raises(SeedError):
        plan.privatize(["tea"], seed=seed)
    with pytest.raises(SeedError):
        plan.simulate([1, 2, 3], seed=seed)


@pytest.mark.parametrize(
    ("frequencies", "error"),
    [
        ([1, -2, 3], FrequencyError),
        ([1, 2.5, 3], FrequencyError),
        ([1, float("nan"), 3], FrequencyError),
        ([1, float("inf"), 3], FrequencyError),
        (["a", "b", "c"], FrequencyError),
        ([1, None, 3], FrequencyError),
        ([1, [2], 3], FrequencyError),
        ([1, 2j, 3], FrequencyError),
        ([1, 1e30, 3], FrequencyError),
        ([2**62, 2**62, 2**62], FrequencyError),
        ([True, False, True], FrequencyError),
        ([1, 2], DomainError),
        (6, DomainError),
    ],
)
def test_frequencies_must_count_people(plan, frequencies, error):
    with pytest.raises(error):
        plan.simulate(frequencies)


def test_whole_floats_are_whole_numbers(plan):
    assert plan.simulate([1.0, 2.0, 3.0], seed=1) == plan.simulate([1, 2, 3], seed=1)


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
    with pytest.raises(PlanMismatchError):
        plan.aggregate(plan.privatize(["tea"])).merge(other.aggregate(other.privatize(["tea"])))


@pytest.mark.parametrize(
    ("counts", "n"),
    [
        ([1, 2], 3),
        ([1, 2, -1], 3),
        ([1, 2, 4], 3),
        ([1.5, 2, 3], 3),
        ([1, 2, float("nan")], 3),
        (["a", "b", "c"], 3),
        ([1, 2, 2**70], 3),
        ([1, 2, 3], 3.5),
        ([1, 2, 3], "3"),
        ([1, 2, 3], True),
        ([1, 2, 3], float("nan")),
        ([1, 2, 3], 2**53),
        ([1, 2, 3], -3),
    ],
)
def test_aggregate_refuses_impossible_counts(plan, counts, n):
    with pytest.raises(InvalidInputError):
        ldp.Aggregate(plan, counts, n)


def test_aggregate_never_overflows(plan):
    most = 2**53 - 1
    full = ldp.Aggregate(plan, [most] * 3, most)
    with pytest.raises(InvalidInputError, match=r"at most 2\^53"):
        full.merge(ldp.Aggregate(plan, [1, 1, 1], 1))
    with pytest.raises(InvalidInputError):
        full.add(plan.privatize(["tea"]))
    assert full == ldp.Aggregate(plan, [most] * 3, most)


@pytest.mark.parametrize("stranger", [None, 5, "reports", np.zeros(3)])
def test_only_reports_are_added_and_only_aggregates_merged(plan, stranger):
    with pytest.raises(InvalidInputError):
        ldp.Aggregate(plan).add(stranger)
    with pytest.raises(InvalidInputError):
        ldp.Aggregate(plan).merge(stranger)


def test_numpy_integers_are_users_too(plan, tmp_path):
    ldp.Aggregate(plan, np.array([1, 2, 3]), np.int64(5)).save(tmp_path / "counts")
    assert ldp.Aggregate.load(tmp_path / "counts").n == 5


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xff\xff\xff",
        struct.pack("<I", 1) + b"{",
        struct.pack("<I", 2) + b"{}",
        struct.pack("<I", 2) + b"[]" + b"123",
        struct.pack("<I", 9) + b'{"n":NaN}',
    ],
)
def test_file_with_a_good_checksum_and_a_bad_content_is_refused(body, tmp_path):
    content = b"LDPAGG1\n" + body
    (tmp_path / "counts").write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(ArchiveError):
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
        path.write_bytes(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
        with pytest.raises(ArchiveError):
            ldp.Aggregate.load(path)
        path.write_bytes(good[:place])
        with pytest.raises(ArchiveError):
            ldp.Aggregate.load(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(ArchiveError):
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


def test_privatizing_from_many_threads_is_independent():
    plan = ldp.Plan(1000, mechanism="llh", epsilon=1.0)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(plan.privatize(np.zeros(500, int)).rows)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batches = {rows.tobytes() for rows in results}
    assert len(batches) == 8


def test_reports_are_sliced_not_indexed(plan):
    reports = plan.privatize(["tea", "water"])
    assert len(reports[:1]) == 1
    with pytest.raises(TypeError, match="slices"):
        reports[0]


def test_reports_are_checked_and_cannot_be_changed_afterwards():
    plan = ldp.Plan(5, mechanism="ss", epsilon=1.0)
    reports = plan.privatize([0, 1, 2])
    buffer = bytearray(reports.to_bytes())
    read = plan.read(buffer)
    buffer[24:] = b"\xff" * 3
    assert plan.aggregate(read) == plan.aggregate(reports)
    for kept in (read, reports, reports[:2]):
        with pytest.raises(ValueError, match="read-only"):
            kept.rows[0, 0] = 1
    rows = np.array(reports.rows)
    mine = Reports(plan, rows)
    rows[:] = 255
    assert plan.aggregate(mine) == plan.aggregate(reports)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((3, 2), np.uint8), np.zeros((3, 1)), np.zeros(3, np.uint8), np.full((3, 1), 255, np.uint8), None],
)
def test_rows_that_are_not_reports_are_refused(rows):
    with pytest.raises(WireError):
        Reports(ldp.Plan(5, mechanism="llh", epsilon=1.0), rows)


def test_a_mechanism_under_a_borrowed_name_is_refused():
    class Evil(MECHANISMS["grr"]):
        pass

    with pytest.raises(InvalidInputError, match="name of its own"):
        ldp.Plan(5, Evil(5, 1.0))
