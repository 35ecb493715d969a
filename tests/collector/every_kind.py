"""A collector with something of every kind, for tests that look at all pages."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime, timedelta

import numpy as np

import localdp as ldp
from localdp.item_sets import ItemSets
from localdp.studies import study_in

LONG = "a drink whose name is so long that no column of any table on any screen has room for the whole of it"
DRINKS = ["tea", "coffee", LONG, "milk", "water", "<b>juice</b>"]
DIETS = ["vegan", "vegetarian", "anything"]


def fill(collector):
    """Make a study of each kind, with reports: the place of each in the dashboard, by its name."""
    rng = np.random.default_rng(41)
    return {
        "waiting": _plan(collector, title="Nobody yet", items=["yes", "no"]),
        "choice": _choice(collector),
        "forged": _forged(collector),
        "sets of a plan": _sets_of_a_plan(collector),
        "scale": _scale(collector, rng),
        "questionnaire": _questionnaire(collector, rng),
        "discovery": _discovery(collector, rng, "Search words", rounds=1),
        "discovery, done": _discovery(collector, rng, "Words that were found", rounds=99),
        "sets": _sets(collector, rng, "Baskets", rounds=1),
        "sets, done": _sets(collector, rng, "Baskets that were counted", rounds=4),
    }


def _plan(collector, **asked):
    made = collector.ask("POST", "/v1/plans", json={"epsilon": 2.0, "minimum": 50, **asked})
    assert made.status_code == 201, made.text
    return f"#/plan/{made.json()['short']}"


def _known(collector, place):
    return ldp.Plan.from_json(collector.client.get(f"/v1/plans/{place.split('/')[-1]}/document").content)


def _choice(collector):
    """Three weeks of a few drinks, of which tea wins."""
    place = _plan(collector, title="Drinks", question="What do you drink in the morning?", items=DRINKS, other="other")
    plan, today = _known(collector, place), datetime.now(UTC).date()
    for ago in range(21, 0, -1):
        held = np.array([300 + 12 * (21 - ago), 300, 120, 80, 60, 40, 20])
        path = f"/v1/plans/{plan.fingerprint}/aggregates?day={today - timedelta(days=ago)}"
        headers = {"Upload-Id": secrets.token_hex(16)}
        assert (
            collector.ask("POST", path, content=plan.simulate(held, seed=ago).to_bytes(), headers=headers).status_code
            == 201
        )
    return place


def _forged(collector):
    place = _plan(collector, title="With forged reports", items=[f"page {one}" for one in range(64)], mechanism="oue")
    plan = _known(collector, place)
    held = [f"page {one}" for one in np.minimum(np.arange(2_000) // 60, 63)]
    assert collector.upload(plan, plan.privatize(held, seed=1).to_bytes()).status_code == 201
    for _ in range(3):
        forged = json.dumps({"plan": plan.fingerprint, "reports": ["//////////8="] * 20})
        assert collector.upload(plan, forged).status_code == 201
    collector.fold(plan)
    return place


def _sets_of_a_plan(collector):
    place = _plan(collector, title="Pages", items=["home", "news", "shop", "help"], set_size=2, other="something else")
    plan = _known(collector, place)
    held = [["home", "news", "shop"]] * 900 + [["shop"]] * 400 + [[]] * 200
    assert collector.upload(plan, plan.privatize(held, seed=1).to_bytes()).status_code == 201
    return place


def _scale(collector, rng):
    scale = {"low": 0, "high": 60, "step": 5}
    place = _plan(collector, title="Minutes", question="How long did it take?", scale=scale, other="no answer")
    plan = _known(collector, place)
    minutes = rng.choice([2, 12, 23, 34, 55, None], 3_000, p=[0.05, 0.1, 0.2, 0.4, 0.2, 0.05]).tolist()
    assert collector.upload(plan, plan.privatize(minutes, seed=1).to_bytes()).status_code == 201
    return place


def _study(collector, kind, **asked):
    made = collector.ask("POST", "/v1/studies", json={"kind": kind, "minimum": 50, **asked})
    assert made.status_code == 201, made.text
    return made.json()


def _questionnaire(collector, rng):
    questions = {"diet": DIETS, "stars": {"low": 1, "high": 5}, "age": {"low": 10, "high": 90, "step": 20}}
    cross = [["diet", "stars"]]
    asked = {"questions": questions, "cross": cross, "epsilon": 2.0, "title": "Recipes"}
    made = _study(collector, "questionnaire", **asked)
    survey = study_in(collector.client.get(f"/v1/studies/{made['id']}/document").text)
    diet = rng.choice(DIETS, 9_000, p=[0.2, 0.3, 0.5])
    stars = np.where(diet == "vegan", rng.integers(4, 6, 9_000), rng.integers(1, 6, 9_000))
    answers = {"diet": diet, "stars": stars, "age": rng.integers(10, 90, 9_000)}
    for part, some in survey.privatize(answers, seed=1):
        _send(collector, made, part, some.to_bytes())
    return f"#/questionnaire/{made['id']}"


def _send(collector, made, part, body):
    path = f"/v1/studies/{made['id']}/parts/{part.fingerprint}/reports"
    answer = collector.client.post(path, content=body, headers={"Upload-Id": secrets.token_hex(16)})
    assert answer.status_code == 201, answer.text


def _through(collector, made, rounds, reports):
    """Let people answer so many rounds, and end these; then let some more answer the next one."""
    for number in range(rounds + 1):
        study = collector.service.studies.find(made["id"]).study
        if study.done:
            return
        _send(collector, made, study.round, reports(study))
        if number < rounds:
            answer = collector.ask("POST", f"/v1/studies/{made['id']}/advance")
            assert answer.status_code == 200, answer.text


def _discovery(collector, rng, title, rounds):
    """Keys of few bits, which are found quickly; the pages of texts are the same."""
    asked = {"bits": 12, "epsilon": 4.0, "users": 6_000, "top": 3, "automatic": False}
    made = _study(collector, "discovery", **asked, title=title, name=title)

    def reports(study):
        held = study.code.encode(rng.choice([1_984, 7, 123, 42], 2_000, p=[0.5, 0.25, 0.15, 0.1]))
        return study.round.plan.privatize_indices(study.round.candidates.indices(held), seed=study.number).to_bytes()

    _through(collector, made, rounds, reports)
    return f"#/discovery/{made['id']}"


def _sets(collector, rng, title, rounds):
    goods = ["bread", "milk", "rice", "tea", "eggs", "cheese"]
    asked = {"items": goods, "epsilon": 4.0, "users": 8_000, "top": 3, "automatic": False}
    made = _study(collector, "sets", **asked, title=title, name=title)
    baskets = [list(rng.choice(goods, size=size, replace=False, p=[0.3, 0.3, 0.15, 0.1, 0.1, 0.05]))
               for size in rng.integers(0, 4, 2_000)]  # fmt: skip

    def reports(study):
        return study.round.privatize(ItemSets.read(baskets, study.domain), seed=study.number).to_bytes()

    _through(collector, made, rounds, reports)
    return f"#/sets/{made['id']}"
