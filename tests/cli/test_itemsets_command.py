"""`localdp itemsets`: baskets from files, and what cannot be used."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import localdp


@pytest.fixture
def shop(tmp_path):
    rng = np.random.default_rng(1)
    holds = rng.random((4_000, 4)) < (0.9, 0.5, 0.1, 0.05)
    names = np.array(["tea", "milk", "bread", "rice"])
    cells = [";".join(names[row]) for row in holds]
    lines = "\n".join(f"{n},{cell}" for n, cell in enumerate(cells))
    (tmp_path / "baskets.csv").write_text(f"user,basket\n{lines}\n")
    (tmp_path / "products.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "baskets.dat").write_text("\n".join(" ".join(map(str, np.flatnonzero(row))) for row in holds) + "\n")
    return tmp_path


def test_combinations_of_a_column_are_found(shop):
    told = ("--items", "products.txt", "-c", "basket", "-e", "4", "--top", "3", "-o", "found.csv")
    shown = localdp("itemsets", "baskets.csv", *told, cwd=shop)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "the top 3 itemsets of 4,000 users, epsilon 4, intervals of 90%"
    assert {line.split("  ")[0] for line in lines[2:]} == {"tea", "milk", "tea + milk"}
    rows = (shop / "found.csv").read_text().replace('"', "").splitlines()
    assert rows[0] == "items,frequency,share,low,high,probability"


def test_single_items_of_a_file_of_transactions_are_found(shop):
    shown = localdp(
        "itemsets", "baskets.dat", "--size", "4", "-e", "4", "--top", "2", "--largest", "1", "--json", cwd=shop
    )
    assert [row["item"] for row in json.loads(shown.stdout)] == [0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "2"), "the items must be known: give a file with --items, or their number with --size"),
        (("--epsilon", "20", "--items", "products.txt"), "epsilon must be above 0 and at most 16"),
        (
            ("--epsilon", "2", "--items", "products.txt", "--largest", "11"),
            "largest, the number of items in an itemset",
        ),
        (("--epsilon", "2", "--size", "4"), "which is not among the items: name a catch-all with --other"),
        (("--epsilon", "2", "--items", "products.txt", "--column", "sets"), "has no column 'sets'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(shop, options, message):
    column = () if "--column" in options else ("-c", "basket")
    refused = localdp("itemsets", "baskets.csv", *column, *options, cwd=shop)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""
