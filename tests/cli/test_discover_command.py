"""`localdp discover`: words and keys from files, and what cannot be used."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import localdp


@pytest.fixture
def searches(tmp_path):
    words = np.repeat(["tea", "coffee", ""], [6_000, 3_000, 1_000])
    lines = "\n".join(f"{place},{word}" for place, word in enumerate(words.tolist()))
    (tmp_path / "searches.csv").write_text(f"user,word\n{lines}\n")
    return tmp_path


def test_words_of_a_column_are_found(searches):
    shown = localdp("discover", "searches.csv", "-c", "word", "-e", "4", "--top", "2", "-o", "found.csv", cwd=searches)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "2 values found among 10,000 users, epsilon 4, intervals of 90%"
    assert [line.split()[0] for line in lines[2:]] == ["tea", "coffee", "other"]
    rows = (searches / "found.csv").read_text().replace('"', "").splitlines()
    assert rows[0] == "item,frequency,share,low,high,probability,kind"
    assert [row.split(",")[0] for row in rows[1:]] == ["tea", "coffee", "other"]


def test_keys_are_found_and_printed_as_json(tmp_path):
    keys = np.repeat([7, 60_000], [3_000, 2_000]).tolist()
    (tmp_path / "keys.csv").write_text("key\n" + "\n".join(map(str, keys)) + "\n")
    shown = localdp("discover", "keys.csv", "-e", "4", "--bits", "16", "--top", "2", "--json", cwd=tmp_path)
    assert [row["item"] for row in json.loads(shown.stdout)] == [7, 60_000, "other"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "none"), "--epsilon is a number above 0"),
        (("--epsilon", "20"), "epsilon must be above 0 and at most 16"),
        (("--epsilon", "2", "--bits", "48"), "with --bits, every value is a whole number, and one of them is not"),
        (("--epsilon", "2", "--top", "0"), "--top is a whole number of at least 1"),
        (("--epsilon", "2", "--rounds", "2"), "values of 64 bits cannot be found in 2 rounds"),
        (("--epsilon", "2", "--column", "words"), "has no column 'words'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(searches, options, message):
    column = () if "--column" in options else ("-c", "word")
    refused = localdp("discover", "searches.csv", *column, *options, cwd=searches)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""


def test_what_would_be_found_is_said_before_anybody_is_asked(tmp_path):
    shown = localdp("advise", "--unlisted", "--users", "20000", "--json", cwd=tmp_path)
    shares = [row["found 9 of 10 times"] for row in json.loads(shown.stdout)]
    assert len(shares) >= 3
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[-1] < 0.05
    refused = localdp("advise", "--unlisted", "--users", "1000", "-e", "0.5", cwd=tmp_path)
    assert "nothing would be found" in refused.stderr
    assert localdp("advise", "--unlisted", cwd=tmp_path).returncode == 2


def test_known_values_and_an_alphabet_come_from_options(tmp_path):
    (tmp_path / "codes.csv").write_text("code\n" + "ab12\n" * 3_000 + "cd34\n" * 2_000)
    (tmp_path / "known.txt").write_text("cd34\nef56\n")
    options = ("-e", "4", "--top", "2", "--alphabet", "abcdef123456", "--known", "known.txt", "-o", "found.csv")
    localdp("discover", "codes.csv", *options, cwd=tmp_path)
    rows = (tmp_path / "found.csv").read_text().replace('"', "").splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["ab12", "cd34", "other"]
