"""What a discovery says that it will find, beside what it finds."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp


def test_chances_grow_with_shares_people_and_epsilon():
    reach = ldp.Discovery(epsilon=2.0, users=50_000).reach
    chances = [reach.chance(share) for share in np.geomspace(0.001, 1, 30)]
    assert chances == sorted(chances)
    assert reach.chance(reach.share(0.9)) == pytest.approx(0.9, abs=0.02)
    assert ldp.Discovery(epsilon=2.0, users=100_000).reach.share() < reach.share()
    assert ldp.Discovery(epsilon=3.0, users=50_000).reach.share() < reach.share()
    known = ldp.Discovery(epsilon=2.0, users=50_000, known=["tea", "milk"]).reach
    assert known.share(known=True) < 0.5 * reach.share()
    assert "a known value from" in str(known)


@pytest.mark.slow
def test_values_above_the_stated_reach_are_found():
    """Five words each with the share that is found 9 of 10 times, in 8 runs: 36 of 40 are expected.

    Fewer than 24 would come by chance in one of a million runs of this test, if 9 of 10 is true.
    """
    share = ldp.Discovery(epsilon=4.0, users=20_000).reach.share(0.9)
    words = ["apple pie", "beef stew", "corn soup", "dry rice", "egg salad"]
    others = [f"{one} {two}" for one in ("red", "blue", "old", "new") for two in ("car", "house", "tree", "dog")]
    weights = [*[share] * 5, *[(1 - 5 * share) / 160] * 16]
    shares = [*weights, 1 - sum(weights)]
    found = 0
    for seed in range(8):
        held = np.random.default_rng(seed).choice([*words, *others, "x"], 20_000, p=shares).tolist()
        found += len(set(words) & set(ldp.discover(held, epsilon=4.0, seed=seed)))
    assert found >= 24
