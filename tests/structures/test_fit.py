"""The share of cells that stand out: Newton steps lead to where the data are explained best."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from localdp.structures.fit import MOST_OUT, _share_out


@pytest.mark.parametrize(("standing_out", "begin"), [(0.0, 0.02), (0.05, 0.02), (0.05, 0.2), (0.6, 0.02)])
def test_steps_lead_to_the_share_that_explains_the_cells_best(standing_out, begin):
    rng = np.random.default_rng(1)
    # How much likelier a cell's estimate is if the cell stands out: much for those that do.
    likelier = np.exp(rng.normal(-0.5, 1.0, 2_000) + 4.0 * (rng.random(2_000) < standing_out))

    def height(rho):
        return np.log(1 - rho + rho * likelier).sum() + 0.2 * np.log(rho) + 9.8 * np.log(1 - rho)

    best = minimize_scalar(lambda rho: -height(rho), bounds=(1e-6, MOST_OUT), method="bounded", options={"xatol": 1e-8})
    rho = begin
    for _ in range(12):
        rho = _share_out(rho, rho * likelier / (1 - rho + rho * likelier))
    assert rho == pytest.approx(best.x, rel=1e-3)
