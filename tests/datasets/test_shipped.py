"""The spectra that ship with the package."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from paths import SHARED

import localdp as ldp
from localdp.errors import InvalidInputError


@pytest.mark.parametrize(
    ("name", "n", "d"),
    [("retail", 908_576, 16_470), ("kosarak-100k", 801_947, 23_496), ("kosarak", 8_019_015, 41_270)],
)
def test_sizes_are_the_published_ones(name, n, d):
    data = ldp.datasets.load(name)
    assert (data.n, data.d) == (n, d)
    assert data.frequencies.dtype == np.int64
    assert (np.diff(data.frequencies) <= 0).all()
    assert data.frequencies[-1] >= 1
    assert data.note


def test_the_surrogate_says_what_it_is():
    assert "NOT the real file" in ldp.datasets.load("kosarak").note


@pytest.mark.slow
def test_the_surrogate_is_what_its_script_makes():
    from scripts import kosarak_surrogate

    made = kosarak_surrogate.spectrum(kosarak_surrogate.frequencies(kosarak_surrogate.Sessions.shipped()))
    assert made == kosarak_surrogate.TARGET.read_text("ascii"), "run: python scripts/kosarak_surrogate.py"


def test_the_surrogate_has_no_humps():
    # From one range of 25% to the next, the number of items with a frequency falls, or rises by noise alone. Five
    # deviations in about 40 comparisons: about one false alarm in 100,000.
    edges = 50 * 1.25 ** np.arange(40)
    counts = np.histogram(ldp.datasets.load("kosarak").frequencies, edges)[0].astype(float)
    density, error = counts / np.diff(edges), np.sqrt(counts + 1) / np.diff(edges)
    assert (np.diff(density) < 5 * np.hypot(error[1:], error[:-1])).all()


def test_the_largest_counts_of_the_surrogate_are_those_of_the_sessions_scaled_up():
    sessions, surrogate = ldp.datasets.load("kosarak-100k"), ldp.datasets.load("kosarak")
    expected = sessions.frequencies[:10] * (surrogate.n / sessions.n)
    assert surrogate.frequencies[:10] == pytest.approx(expected, rel=0.03)


def test_unknown_names_are_refused():
    with pytest.raises(InvalidInputError, match="retail"):
        ldp.datasets.load("census")


@pytest.mark.parametrize("name", ["retail", "kosarak-100k"])
def test_spectrum_is_that_of_the_original_file(name):
    path = SHARED / f"{name}.dat.gz"
    if not path.exists():
        pytest.skip(f"the original {path.name} is not on this machine")
    with gzip.open(path, "rt") as file:
        items = np.array(file.read().split(), np.int64)
    counts = np.bincount(items)
    assert np.array_equal(np.sort(counts[counts > 0])[::-1], ldp.datasets.load(name).frequencies)
