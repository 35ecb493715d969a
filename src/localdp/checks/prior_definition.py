"""Checks that a prior is written as the library expects: names, types and shapes, before any sum is computed.

Every message says what to set or to return. Without these checks, an author would meet errors from deep inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from localdp.checks.failure import CheckFailure, require
from localdp.errors import LocalDPError
from localdp.priors import FittedPrior, Observations, ParametricFamily, Prior
from localdp.registry import complaint_about, complaint_about_name
from localdp.types import Vector
from localdp.validation import shown


def require_family(family: Any) -> None:
    """The prior is an object of a complete class with a name and methods."""
    if isinstance(family, type):
        complaint = complaint_about(family, Prior)
        require(False, complaint or f"give an object of the family, {family.__name__}(), not the class")
    require(
        isinstance(family, Prior),
        f"expected an object of a class that derives from localdp.Prior, not {shown(family, 60)}",
    )
    kind = type(family)
    complaint = complaint_about_name(getattr(family, "name", None), kind)
    require(complaint is None, f"{complaint}")
    methods = getattr(family, "methods", None)
    require(
        isinstance(methods, tuple) and methods and all(isinstance(name, str) for name in methods),
        f"{kind.__name__} needs the names of the ways to fit it, the default first, such as "
        f'methods = ("mle",), not {shown(methods)}',
    )
    if isinstance(family, ParametricFamily):
        count = getattr(family, "parameter_count", None)
        require(
            type(count) is int and count >= 1,
            f"{kind.__name__} needs the number of its parameters, such as parameter_count = 2, not {shown(count)}",
        )
        require(
            family.limits is None or len(family.limits) == count,
            f"{kind.__name__} has {len(family.limits or ())} limits for {count} parameters; expected a pair (smallest, "
            "largest) for each",
        )


def require_fit(family: Prior, observations: Observations, method: str) -> None:
    """The family can be fitted by this method, and what that gives is a distribution on 0..n."""
    if isinstance(family, ParametricFamily):
        _require_formulas(family, observations)
    fitted: Any = _fitted(family, observations, method)
    require(
        isinstance(fitted, FittedPrior),
        f"{family!r}: fit_observations() returns a {type(fitted).__name__}; expected a FittedPrior",
    )
    require(
        type(fitted.n) is int and fitted.n >= observations.n,
        f"{fitted!r}: n is {shown(fitted.n)}; expected the number of users, observations.n = {observations.n}",
    )
    if fitted.atoms is not None:
        _require_atoms(fitted)
    else:
        _require_smooth_part(fitted)


def _fitted(family: Prior, observations: Observations, method: str) -> Any:
    """What fitting gives; an error in it, or a warning about numbers, is a failure."""
    call = f"fit_observations(observations, {method!r})"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = _called(family, call, lambda: family.fit(observations, method), ignored="warn")
    about_numbers = [str(warning.message) for warning in caught if issubclass(warning.category, RuntimeWarning)]
    require(
        not about_numbers,
        f"{family!r}: {call} meets numbers that it cannot compute with ({', '.join(about_numbers[:1])}); set `limits` "
        "so that theta stays where log_shape() is finite, and let from_moments() start there even if the spread is 0",
    )
    return fitted


def _require_formulas(family: ParametricFamily, observations: Observations) -> None:
    """The formulas of a parametric family return arrays of the right shape, and the gradient is that of the shape."""
    count = family.parameter_count
    start: Any = _called(family, "from_moments(observations)", lambda: family.from_moments(observations))
    expected = f"expected the pair (theta, notes): an array of {count} numbers, and a tuple of sentences, such as ()"
    require(
        isinstance(start, tuple) and len(start) == 2, f"{family!r}: from_moments() returns {shown(start)}; {expected}"
    )
    theta, notes = start
    usable = isinstance(theta, np.ndarray) and theta.shape == (count,) and np.isfinite(theta).all()
    require(usable and isinstance(notes, tuple), f"{family!r}: from_moments() returns {shown(start, 80)}; {expected}")
    k = np.array([family.first, family.first + 1.0, 7.5, 100.0, float(observations.n)])
    logs: Any = _called(family, "log_shape(k, theta)", lambda: family.log_shape(k, theta))
    _require_logs(f"{family!r}: log_shape(k, theta)", logs, k)
    _require_gradient(family, k, theta + 1e-3 * np.maximum(1.0, np.abs(theta)))  # off a limit, where it may have a kink


def _require_gradient(family: ParametricFamily, k: Vector, theta: Vector) -> None:
    """The gradient is that of the shape, up to a number that is the same for all frequencies."""
    count = family.parameter_count
    slopes: Any = _called(family, "gradient(k, theta)", lambda: family.gradient(k, theta))
    require(
        isinstance(slopes, np.ndarray) and slopes.shape == (k.size, count),
        f"{family!r}: gradient(k, theta) returns an array of shape {np.shape(slopes)} for {k.size} frequencies and "
        f"{count} parameters; expected {(k.size, count)}: a row for each frequency, a column for each parameter",
    )
    found = _called(family, "log_shape(k, theta)", lambda: ParametricFamily.gradient(family, k, theta))
    stated, differences = slopes - slopes[0], found - found[0]
    off = np.nan_to_num(np.abs(stated - differences) / (1e-3 + np.abs(differences)), nan=0.0)
    row, column = np.unravel_index(int(np.argmax(off)), off.shape)
    require(
        off[row, column] < 1e-3,
        f"{family!r}: from k = {k[0]:g} to k = {k[row]:g}, gradient(k, theta) changes by {stated[row, column]:.6g} for "
        f"parameter {column}, but differences of log_shape change by {differences[row, column]:.6g}; correct it, or "
        "leave gradient() out",
    )


def _require_atoms(fitted: FittedPrior) -> None:
    """The atoms are ascending frequencies with their log-masses."""
    atoms: Any = fitted.atoms
    values, logs = (np.asarray(part, np.float64) for part in atoms)
    require(
        values.ndim == 1 and values.size > 0 and values.shape == logs.shape and (np.diff(values) > 0).all(),
        f"{fitted!r}: atoms are {shown(atoms, 60)}; expected two arrays of the same length: ascending frequencies, and "
        "the logarithms of their probabilities",
    )


def _require_smooth_part(fitted: FittedPrior) -> None:
    """The smooth part begins at a whole number and has a mass at every frequency from there on."""
    require(
        type(fitted.first) is int and fitted.first in (0, 1),
        f"{fitted!r}: first is {shown(fitted.first)}; expected 0 if log_mass also gives the mass of frequency 0, and 1 "
        "if that has none or stands apart (then `zero` is its log-mass)",
    )
    edges: Any = fitted.edges
    require(
        isinstance(edges, np.ndarray) and edges.ndim == 1 and (np.diff(edges) > 0).all(),
        f"{fitted!r}: edges are {shown(edges)}; expected an array of ascending frequencies, empty if there is no "
        "step or kink",
    )
    feature: Any = fitted.feature
    require(
        feature is None or (isinstance(feature, tuple) and len(feature) == 2 and feature[1] > 0),
        f"{fitted!r}: feature is {shown(feature)}; expected (centre, width) of a narrow bulk, or None",
    )
    k = np.array([fitted.first, fitted.first + 1.0, 1.5, min(fitted.largest, 7.5), float(fitted.largest)])
    logs: Any = _called(fitted, "log_mass(k)", lambda: fitted.log_mass(k))
    _require_logs(f"{fitted!r}: log_mass(k)", logs, k)


def _require_logs(what: str, logs: Any, k: Vector) -> None:
    """Logarithms of probabilities up to a constant: one for each k, none of them nan or infinity."""
    require(
        isinstance(logs, np.ndarray) and logs.shape == k.shape and logs.dtype == np.float64,
        f"{what} returns {shown(logs, 60)} for k = {k.tolist()}; expected an array of {k.size} floats",
    )
    require(
        (logs > -np.inf).any(), f"{what} gives -inf for all of k = {k.tolist()}; expected some of them to have mass"
    )
    wrong = np.flatnonzero(~(logs < np.inf))
    require(
        not wrong.size,
        f"{what} gives {logs[wrong].tolist()} for k = {k[wrong].tolist()}; expected the logarithm of a probability. If "
        "the formula has no value at 0, set first = 1",
    )


def _called(
    subject: Prior | FittedPrior, call: str, function: Callable[[], Any], ignored: Literal["ignore", "warn"] = "ignore"
) -> Any:
    """What a method returns; an error in it is a failure that names the method."""
    try:
        with np.errstate(divide=ignored, invalid=ignored):  # what they lead to is reported in words
            return function()
    except LocalDPError:
        raise
    except Exception as error:
        raise CheckFailure(f"{subject!r}: {call} raises {type(error).__name__}: {error}") from error
