"""The page about the collector names every route and every code, and shows what the fields of a plan are."""

from __future__ import annotations

import re

import pytest
from paths import DOCS, ROOT

from localdp.collector.fields import OF_PLAN
from localdp.collector.requests import KINDS, OF_STUDY
from localdp.collector.routes import ROUTES
from localdp.errors import WireCode

PAGE = (DOCS / "collector.md").read_text("utf-8")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_on_the_page_with_its_scope(route):
    (line,) = [line for line in PAGE.splitlines() if f"`{route.method} {route.path}`" in line and line.startswith("|")]
    assert (route.scope or "public") in line.split("|")[2]


def test_every_code_is_on_the_page():
    sources = [path.read_text("utf-8") for path in (ROOT / "src" / "localdp" / "collector").rglob("*.py")]
    made = re.compile(
        r"(?:Problem|_refuse)\(\s*\d{3},\s*\"([a-z-]+)\"|(?:invalid|code: str) ?[=(].*?\"([a-z]+-[a-z-]+)\""
    )
    codes = {one or two for text in sources for one, two in made.findall(text)} | {code.value for code in WireCode}
    assert len(codes) > 25
    assert [code for code in sorted(codes) if f"`{code}`" not in PAGE] == []


def test_every_field_of_a_plan_and_of_every_other_study_is_on_the_page():
    of_studies = {field for asked in KINDS.values() for field in asked.fields}
    for field in (*OF_PLAN, "plan", *OF_STUDY, *of_studies, *KINDS, "kind", "document"):
        assert f"`{field}`" in PAGE
