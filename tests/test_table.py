"""Tables line up in a terminal, and every result converts to pyarrow, pandas and polars."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import MissingPackageError
from localdp.table import Table

ESTIMATE = ldp.Estimate([50.0, 5.0, 40.0], n=100, variance=9.0, domain=["tea", "milk", "salt"])
CALIBRATED = ESTIMATE.calibrate("power-law")
RESULTS = {
    "Estimate": (ESTIMATE, ["tea", "milk", "salt"]),
    "zeroed": (ESTIMATE.zeroed(), ["tea", "milk", "salt"]),
    "Combined": (ESTIMATE.combine([2, 1, 3]), ["tea", "milk", "salt"]),
    "Calibrated": (CALIBRATED, ["tea", "milk", "salt"]),
    "HeavyHitters": (CALIBRATED.heavy_hitters(20), ["tea", "salt"]),
    "top": (ESTIMATE.top(2), ["tea", "salt"]),
    "groups": (CALIBRATED.group({"hot": ["tea"], "cold": ["milk", "salt"]}), ["hot", "cold"]),
    "comparison": (ESTIMATE.compare("power-law"), ["tea", "milk", "salt"]),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_every_result_converts(kind):
    result, first = RESULTS[kind]
    arrow, pandas, polars = result.to_arrow(), result.to_pandas(), result.to_polars()
    assert arrow.column_names == list(pandas.columns) == polars.columns
    for name in arrow.column_names:
        assert arrow[name].to_pylist() == pandas[name].tolist() == polars[name].to_list()
    assert arrow[0].to_pylist() == first
    table = result if isinstance(result, Table) else result.table()
    for name in table.columns:
        assert list(pandas[name]) == list(table[name])


def test_numbered_items_stay_numbers():
    numbered = ldp.Estimate([5.0, 50.0], n=100, variance=9.0)
    assert numbered.to_pandas()["item"].tolist() == [0, 1]
    assert numbered.top(1).to_polars()["item"].to_list() == [1]


def test_an_empty_list_converts():
    nobody = ESTIMATE.heavy_hitters(1_000)
    assert len(nobody.to_pandas()) == len(nobody.to_polars()) == nobody.to_arrow().num_rows == 0
    assert list(nobody.to_pandas().columns) == ["item", "frequency", "share", "low", "high", "probability"]


@pytest.mark.parametrize(
    ("method", "package"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas"), ("to_polars", "polars")]
)
@pytest.mark.parametrize("kind", RESULTS)
def test_a_missing_package_is_named(monkeypatch, kind, method, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"converting to {package} needs the package .*: pip install"):
        getattr(RESULTS[kind][0], method)()


def test_wide_characters_take_two_columns():
    table = Table({"item": ["tea", "お茶", "🍵", "e\u0301"], "users": np.array([7, 1_200, 30, 4])})
    assert str(table).splitlines() == ["item  users", "tea       7", "お茶  1,200", "🍵       30", "e\u0301         4"]
