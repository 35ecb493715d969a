"""A discovery from round to round: what is found, what is refused, and how it is saved and resumed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from small_discovery import HEAVY, answered, keys, small

import localdp as ldp
from localdp.discovery.design import CELLS, best_design, error, split_bits
from localdp.discovery.run import run
from localdp.errors import (
    ArchiveError,
    EmptyError,
    EpsilonError,
    InvalidInputError,
    PlanError,
    PlanMismatchError,
    TooFewReportsError,
)


def test_the_heavy_keys_are_found_with_their_frequencies():
    found = run(small(), keys(20_000), seed=3)
    assert set(found.items) == set(HEAVY)
    assert found.items[0] == 40_000
    assert found.n == 20_000
    low, high = found.interval(0.999)
    for place, key in enumerate(found.items):  # sampling and noise: a deviation is at most 0.6% of the users
        assert low[place] <= HEAVY[key] * 20_000 <= high[place]
        assert abs(found.frequencies[place] - HEAVY[key] * 20_000) < 5 * 0.006 * 20_000
    narrow = found.interval(0.5)
    assert (narrow[0] > low).all()
    assert (narrow[1] < high).all()
    assert (found.probabilities > 0.9).all()
    assert len(found) == 4
    assert str(found).startswith("4 values found among 20,000 users, epsilon 4, intervals of 90%\n")
    assert list(found.table().columns) == ["item", "frequency", "share", "low", "high", "probability", "kind"]


@pytest.mark.slow
def test_intervals_contain_the_truth_about_as_often_as_they_say():
    """40 discoveries of four keys: about 160 intervals of 90%. A share has a standard deviation of 2.4%, so that less
    than 78%, or all of them, would come once in a million times.
    """
    inside = []
    for seed in range(40):
        values = keys(6_000, seed)
        found = run(small(users=6_000), values, seed=seed)
        low, high = found.interval(0.9)
        counted = np.bincount(values, minlength=1 << 16)
        inside += [low[place] <= counted[key] <= high[place] for place, key in enumerate(found.items)]
    assert len(inside) > 130
    assert 0.78 < np.mean(inside) < 1


def test_words_are_found_and_printed_as_words():
    rng = np.random.default_rng(1)
    words = rng.choice(["the", "of", "caf\u00e9", "", "rare"], 30_000, p=[0.4, 0.2, 0.2, 0.15, 0.05]).tolist()
    found = ldp.discover(words, epsilon=4.0, top=4, seed=5)
    assert found.items[0] == "the"
    assert set(found.items) == {"the", "of", "caf\u00e9", ""}
    assert found.notes == ()


def test_single_letters_are_found_where_texts_have_one_byte():
    found = ldp.discover(["z"] * 4_000 + ["a"] * 3_000 + ["ab"] * 3_000, epsilon=4.0, top=2, most_bytes=1, seed=1)
    assert found.items == ["z", "a"]


def test_texts_that_are_too_long_take_part_and_are_not_found():
    words = ["tea"] * 3_000 + ["x" * 40] * 6_000 + [None] * 500 + ["a\ud800"] * 500
    found = ldp.discover(words, epsilon=4.0, top=3, seed=2)
    assert found.items == ["tea"]
    assert found.n == 10_000
    assert found.frequencies[0] == pytest.approx(3_000, abs=700)


def test_a_text_beyond_the_plan_is_followed_to_its_end():
    words = ["a rather long text indeed"] * 15_000 + ["tea"] * 15_000
    found = ldp.discover(words, epsilon=4.0, top=2, seed=2)
    assert set(found.items) == {"tea", words[0]}
    assert found.beginnings == ()


@pytest.mark.slow
def test_texts_that_part_beyond_the_plan_are_listed_by_their_beginning():
    rng = np.random.default_rng(5)
    ends = ["".join(chr(97 + letter) for letter in row) for row in rng.integers(0, 26, (8_000, 8)).tolist()]
    words = [f"a rather long text with {end}" for end in ends] + ["tea"] * 12_000
    found = ldp.discover(words, epsilon=4.0, top=2, seed=3)
    assert found.items == ["tea"]
    assert found.beginnings
    assert all("a rather long text with ".startswith(text[:-3]) for text in found.beginnings)
    assert f"begin with {found.beginnings[0]!r}" in str(found)
    table = found.table()
    assert table["kind"] == ["value", *["beginning"] * len(found.beginnings), "other"]
    assert table["frequency"].sum() == pytest.approx(20_000)
    assert 1_000 < table["frequency"][1:-1].sum() < 9_500  # some of the letters that follow, or all


def test_known_values_need_fewer_users_and_the_others_are_counted():
    """2% of 20,000 users hold each of ten words: too few to find them bit by bit, and enough to count them.

    That is 7.6 standard errors, and about 3.5 are needed: one of ten words is missed once in 3,000 such tests.
    """
    words = [f"known {letter}" for letter in "abcdefghij"]
    held = np.random.default_rng(1).choice([*words, "tea"], 20_000, p=[*[0.02] * 10, 0.8]).tolist()
    dictionary = [*words, *(f"never {number}" for number in range(200))]
    found = ldp.discover(held, epsilon=3.5, top=12, seed=1, known=dictionary)
    assert set(found.items) == {*words, "tea"}
    low, high = found.interval(0.9999)
    assert all(low[place] <= held.count(word) <= high[place] for place, word in enumerate(found.items))
    assert len(ldp.discover(held, epsilon=3.5, top=12, seed=1)) < 5
    other = found.other(0.9999)
    assert other.low <= 0 <= other.high


def test_a_discovery_with_known_values_is_saved_and_asks_no_round_without_their_cells(tmp_path):
    discovery = ldp.Discovery(bits=16, epsilon=4.0, users=20_000, top=3, known=[7, 40_000, (1 << 16) - 1])
    assert ldp.Discovery.from_json(discovery.to_json()).to_json() == discovery.to_json()
    asked = discovery.round
    assert asked.question.read([40_000, 8]).items.tolist() == [(1 << 16) + 1, 8]
    values = np.repeat([40_000, 7, 123], [5_000, 3_000, 2_000])
    aggregate = asked.plan.aggregate(asked.privatize(values, seed=1))
    following = discovery.advance(aggregate, asked)
    following.save(tmp_path / "state")
    assert np.array_equal(ldp.Discovery.load(tmp_path / "state")._history.known, following._history.known)
    assert following._history.known[1] == pytest.approx(0.5, abs=0.05)
    without = ldp.Discovery(bits=16, epsilon=4.0, users=20_000, top=3).round
    document = json.loads(without.to_json()) | {"discovery": discovery.fingerprint}
    with pytest.raises(PlanError, match="does not have a cell for each of the values"):
        discovery.part_in(json.dumps(document))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": ["tea", "tea"]}, "every known value must be given once"),
        ({"known": ["x" * 200]}, "is among the known values, and no value"),
        ({"known": [7], "bits": 2}, "7 is among the known values|is among the known"),
        ({"alphabet": "a"}, "an alphabet is a text of two or more different characters"),
        ({"alphabet": "ab", "examples": ["a"]}, "an alphabet or of examples"),
        ({"examples": []}, "examples are a list of texts"),
        ({"alphabet": "ab", "bits": 8}, "give one of the two"),
    ],
)
def test_what_is_known_beforehand_is_checked(options, message):
    with pytest.raises(InvalidInputError, match=message):
        ldp.Discovery(epsilon=2.0, users=100_000, **options)


def test_a_discovery_that_would_find_nothing_is_refused():
    with pytest.raises(TooFewReportsError, match="nothing would be found, not even a value that half of them hold"):
        ldp.Discovery(epsilon=0.2, users=2_000)


def test_values_without_heavy_hitters_give_an_empty_list():
    found = run(small(users=4_000), np.random.default_rng(0).integers(0, 1 << 16, 4_000), seed=1)
    assert found.items == []
    assert found.n == 4_000
    assert found.interval()[0].size == 0
    assert str(found).startswith("0 values found among 4,000 users")


def test_a_seed_gives_the_same_result_and_none_gives_another():
    values = keys(8_000)
    one, two = (run(small(users=8_000), values, seed=9) for _ in range(2))
    assert one.items == two.items
    assert np.array_equal(one.frequencies, two.frequencies)
    assert not np.array_equal(run(small(users=8_000), values).frequencies, one.frequencies)


def test_progress_is_told_after_every_round():
    told = []
    run(small(users=4_000), keys(4_000), seed=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_discovery_is_saved_and_resumed_after_every_round(tmp_path):
    """Stopped and read again after every round, it asks the same questions and finds the same as one in memory."""
    values = keys(20_000)
    straight = stopped = small()
    path = tmp_path / "state.json"
    for number in range(4):
        stopped.save(path)
        stopped = small().resume(path)
        assert stopped.round == straight.round
        assert stopped.number == number
        aggregate = answered(straight, values, seed=number)
        straight, stopped = straight.advance(aggregate, straight.round), stopped.advance(aggregate, stopped.round)
    stopped.save(path)
    again = ldp.Discovery.load(path)
    assert again.done
    assert again.result().items == straight.result().items == stopped.result().items
    assert np.allclose(again.result().frequencies, straight.result().frequencies)


def test_the_state_of_another_discovery_is_refused(tmp_path):
    path = tmp_path / "state.json"
    for other in (small("another name"), small(epsilon=2.0), small(users=30_000)):
        other.save(path)
        with pytest.raises(PlanMismatchError, match="holds the state of another discovery"):
            small().resume(path)


def test_a_file_that_is_no_state_or_was_altered_is_refused(tmp_path):
    path = tmp_path / "state.json"
    small().advance(answered(small(), keys(20_000)), small().round).save(path)
    text = path.read_text()
    for damaged in ("", "no state", text[:-9], text.replace("0.05", "0.06"), text.replace("a", "b", 1)):
        path.write_text(damaged)
        with pytest.raises(ArchiveError, match="is not a saved discovery"):
            ldp.Discovery.load(path)
    import hashlib

    body = text.split("\n")[1].replace('"position":8', '"position":"x"')
    path.write_text(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}\n")
    with pytest.raises(ArchiveError, match="is not a usable discovery"):
        ldp.Discovery.load(path)


def test_reports_of_another_round_are_refused():
    """Two discoveries ask for the same number of cells, so their plans are equal, and their rounds are not."""
    one, two = small(), small("another name")
    assert one.round.plan == two.round.plan
    aggregate = answered(one, keys(20_000))
    with pytest.raises(PlanMismatchError, match="made under another round than round 0"):
        one.advance(aggregate, two.round)
    after = one.advance(aggregate, one.round.fingerprint)
    assert (one.number, after.number) == (0, 1)
    with pytest.raises(PlanMismatchError, match="is not of the plan of round 1"):
        after.advance(aggregate, after.round)
    with pytest.raises(InvalidInputError, match="advances by an Aggregate, not by ndarray"):
        one.advance(aggregate.counts, one.round)


def test_a_round_with_too_few_reports_goes_on():
    discovery = small()
    with pytest.raises(TooFewReportsError, match="round 0 has 99 reports, and needs at least 100"):
        discovery.advance(answered(discovery, keys(99)), discovery.round)
    assert discovery.advance(answered(discovery, keys(100)), discovery.round).number == 1


def test_results_come_when_all_rounds_are_over():
    with pytest.raises(InvalidInputError, match="not done: round 0 of 4 is under way"):
        small().result()
    done = small()
    for number in range(4):
        done = done.advance(answered(done, keys(20_000), seed=number), done.round)
    with pytest.raises(InvalidInputError, match="this discovery is done"):
        _ = done.round
    assert repr(done).endswith("done>")
    assert repr(small()).endswith("top 4 of 20,000 users, round 0 of 4>")


@pytest.mark.parametrize(
    ("options", "error_type", "message"),
    [
        ({"epsilon": 0.0}, EpsilonError, "epsilon must be above 0"),
        ({"users": 99}, InvalidInputError, "needs at least 100 users"),
        ({"users": 1.5}, InvalidInputError, "n is the number of users"),
        ({"top": 0}, InvalidInputError, "the number of values to find must be a whole number from 1 to 1000"),
        ({"bits": 65}, InvalidInputError, "the number of bits of a key"),
        ({"bits": 48, "most_bytes": 8}, InvalidInputError, "give one of the two"),
        ({"most_bytes": 0}, InvalidInputError, "most_bytes, the bytes of the longest text"),
        ({"rounds": 25}, InvalidInputError, "the number of rounds must be a whole number from 1 to 24"),
        ({"rounds": 1}, InvalidInputError, "cannot be found in 1 rounds: use another number, from 2"),
        ({"rounds": 2, "bits": 64}, InvalidInputError, "values of 64 bits cannot be found in 2 rounds"),
        ({"users": 500}, TooFewReportsError, "500 users are too few for values of 78 bits: every round needs 150"),
        ({"name": 5}, InvalidInputError, "the name of a discovery is text, not int"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(options, error_type, message):
    with pytest.raises(error_type, match=message):
        ldp.Discovery(**{"epsilon": 2.0, "users": 10_000} | options)


@pytest.mark.parametrize(
    ("values", "error_type", "message"),
    [
        ([], EmptyError, "no values were given"),
        (["tea"] * 99, TooFewReportsError, "99 users are too few"),
        ("tea", InvalidInputError, "not one text"),
        (["tea", 5] * 600, InvalidInputError, "every value must be a text"),
        ([5, "tea"] * 600, InvalidInputError, "every key must be a whole number"),
        (7, InvalidInputError, "one value for each user"),
    ],
)
def test_values_that_cannot_be_used_are_refused(values, error_type, message):
    with pytest.raises(error_type, match=message):
        ldp.discover(values, epsilon=2.0)


def test_rounds_are_read_from_their_documents_and_altered_ones_are_refused():
    from localdp.discovery.rounds import Round

    asked = small().advance(answered(small(), keys(20_000)), small().round).round
    assert Round.from_json(asked.to_json()) == asked
    assert hash(Round.from_json(asked.to_json())) == hash(asked)
    text = asked.to_json()
    first = text.split('"open":["')[1][:2]
    for damaged in ("", "[]", text.replace('"round":1', '"round":-1'), text.replace(first, "zz"), text[:-1], b"\xff"):
        with pytest.raises(PlanError, match="this is not a round"):
            Round.from_json(damaged)
    swapped = text.replace('"bits":4', '"bits":3')
    with pytest.raises(PlanError, match="does not have a cell for each of its candidates"):
        Round.from_json(swapped)
    import json

    document = json.loads(text)
    document["open"].reverse()
    with pytest.raises(PlanError, match="its candidates are not in order"):
        Round.from_json(json.dumps(document))


@pytest.mark.parametrize(("total", "alike"), [(16, False), (48, False), (64, False), (64, True)])
def test_designs_use_all_users_and_all_bits(total, alike):
    design = best_design(total, 1_000_000, 2.0, 20, alike=alike)
    assert sum(design.shares) == 100
    assert sum(design.bits) == total
    assert design.shares[-1] >= 10
    assert len(design.shares) == len(design.bits) + 1
    assert all((CELLS - 1) >> bits for bits in design.bits)


def test_more_users_and_more_budget_reach_rarer_values():
    reach = [
        best_design(48, users, epsilon, 20, alike=False).reach
        for users, epsilon in ((1e5, 1.0), (1e6, 1.0), (1e6, 4.0))
    ]
    assert reach[0] > 2 * reach[1] > 4 * reach[2]


def test_the_expected_error_falls_with_the_share_that_is_looked_for():
    shares = np.array([[25, 22, 22, 21, 10]] * 3) / 100
    for alike in (False, True):
        errors = error(shares, (21, 9, 9, 9), np.array([0.003, 0.006, 0.02]), 1_000_000, 0.7, 20, alike)
        assert errors[0] > errors[1] > errors[2] > 0


def test_bits_are_split_evenly_behind_the_first_round():
    assert split_bits(48, 4) == (21, 9, 9, 9)
    assert split_bits(64, 5) == (21, 11, 11, 11, 10)
    assert split_bits(16, 1) == (16,)
    assert split_bits(48, 1) is None
    assert split_bits(64, 3) is None  # 22 bits in a round would leave no room for candidates
    assert split_bits(22, 3) is None  # there is one bit left for two rounds
