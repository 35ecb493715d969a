"""The package as a whole: what importing costs, what the demo prints, what the documents promise."""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import ROOT

import localdp as ldp
from localdp.estimate.projections import PROJECTIONS
from localdp.hitters.rules import RULES
from localdp.mechanisms import MECHANISMS
from localdp.priors import PRIORS


def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603


def test_importing_loads_nothing_heavy():
    loaded = _python("import sys, localdp; print(*sys.modules)").split()
    assert not {"scipy", "numba", "matplotlib", "pandas", "cryptography"} & set(loaded)


def test_dir_shows_what_is_public_and_nothing_else():
    assert dir(ldp) == sorted([*ldp.__all__, "__version__"])
    code = "import localdp as ldp; [getattr(ldp, name) for name in dir(ldp)]; print(*dir(ldp))"
    assert _python(code).split() == dir(ldp)


def test_what_is_not_public_is_not_found():
    with pytest.raises(AttributeError, match="module 'localdp' has no attribute 'Plam'"):
        ldp.Plam  # noqa: B018


def test_public_names_exist_and_are_documented():
    for name in ldp.__all__:
        assert getattr(ldp, name).__doc__, name


@pytest.mark.parametrize("name", [*MECHANISMS, "auto"])
def test_every_mechanism_is_in_the_documents(name):
    assert f"`{name}`" in (ROOT / "docs" / "mechanisms.md").read_text("utf-8")


@pytest.mark.parametrize("name", PRIORS)
def test_every_prior_is_in_the_documents(name):
    assert f"`{name}`" in (ROOT / "docs" / "calibrate.md").read_text("utf-8")


@pytest.mark.parametrize("name", [*PROJECTIONS, *RULES])
def test_every_projection_and_rule_is_in_the_documents(name):
    text = (ROOT / "docs" / "heavy-hitters.md").read_text("utf-8")
    assert f"`{name}`" in text or f'`"{name}"`' in text


def test_every_error_is_a_localdp_error():
    from localdp import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 10
    assert all(issubclass(kind, ldp.LocalDPError | Warning) for kind in kinds)


def test_the_version_is_said_once():
    assert f'version = "{ldp.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"## {ldp.__version__.split('.dev')[0]}" in (ROOT / "CHANGELOG.md").read_text()
