"""A questionnaire on a collector: created by its fields, answered by devices, read as tables that are released."""

from __future__ import annotations

import secrets
from functools import partial

import numpy as np
import pytest
from running import running

import localdp as ldp
from localdp.questionnaires import result as result_module
from localdp.questionnaires.draws import draw
from localdp.studies import study_in

FIELDS = {
    "kind": "questionnaire",
    "title": "Recipes",
    "questions": {"diet": ["vegan", "any"], "stars": {"low": 1, "high": 5}},
    "cross": [["diet", "stars"]],
    "epsilon": 4,
    "users": 5000,
    "minimum": 50,
}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Routes are tested here, not intervals, so a few draws are enough."""
    monkeypatch.setattr(result_module, "draw", partial(draw, draws=8))


def test_a_questionnaire_is_created_answered_and_read(tmp_path):
    with running(tmp_path / "x.db") as collector:
        made = collector.ask("POST", "/v1/studies", json=FIELDS)
        assert made.status_code == 201
        route = f"/v1/studies/{made.json()['id']}"
        assert collector.ask("POST", "/v1/studies", json=FIELDS).status_code == 200
        survey = study_in(collector.client.get(f"{route}/document").text)
        assert [part["key"] for part in made.json()["parts"]] == [part.key for part in survey.parts()]
        early = collector.ask("GET", f"{route}/result", "read")
        assert (early.status_code, early.json()["code"]) == (409, "too-few-reports")
        diet = np.repeat(["vegan", "any"], 2_000)
        reports = survey.privatize({"diet": diet, "stars": np.where(diet == "vegan", 5, 2)}, seed=1)
        for part, some in reports:
            headers = {"Upload-Id": secrets.token_hex(16)}
            body = some.to_bytes()
            sent = collector.client.post(f"{route}/parts/{part.fingerprint}/reports", content=body, headers=headers)
            assert sent.status_code == 201
        client = ldp.Client(survey, store=tmp_path / "device", upload=collector.url)
        assert client.send({"diet": "vegan", "stars": 5}).delivered == 1
        assert client.send({"diet": "any"}).delivered == 0  # it has answered
        found = collector.ask("GET", f"{route}/result", "read").json()
        assert (found["kind"], found["n"]) == ("questionnaire", 4_001)
        table = found["tables"]["diet,stars"]["columns"]
        assert (table["diet"][4], table["stars"][4]) == ("vegan", "5")
        assert abs(table["share"][4] - 0.5) < 0.05
        assert table["low"][4] < table["share"][4] < table["high"][4]
        assert found["tables"]["diet"]["columns"]["diet"] == ["vegan", "any", "no answer"]
        text = collector.ask("GET", f"{route}/result?format=csv&table=diet,stars", "read").text
        assert text.splitlines()[0] == '"diet","stars","share","low","high","note"'
        assert collector.ask("POST", f"{route}/advance").json()["code"] == "nothing-follows"


def test_questions_may_be_called_as_columns_are_and_have_colons(tmp_path):
    with running(tmp_path / "x.db") as collector:
        questions = {"share": ["yes", "no"], "note": ["a:b", "c"], "share:note": ["x", "y"]}
        asked = {**FIELDS, "questions": questions, "cross": [["share", "note"], ["share", "share:note"]]}
        made = collector.ask("POST", "/v1/studies", json=asked).json()
        route = f"/v1/studies/{made['id']}"
        survey = study_in(collector.client.get(f"{route}/document").text)
        answers = {name: np.repeat(some, 1_000) for name, some in questions.items()}
        for part, some in survey.privatize(answers, seed=1):
            headers = {"Upload-Id": secrets.token_hex(16)}
            path = f"{route}/parts/{part.fingerprint}/reports"
            assert collector.client.post(path, content=some.to_bytes(), headers=headers).status_code == 201
        tables = collector.ask("GET", f"{route}/result", "read").json()["tables"]
        assert tables["share"]["columns"]["share (answer)"] == ["yes", "no", "no answer"]
        assert tables["share,note"]["columns"]["note (answer)"] == ["a:b", "c"] * 2
        text = collector.ask("GET", f"{route}/result?format=csv&table=note", "read").text
        assert text.startswith('"note (answer)","share","low","high","note"\n"a:b",')
        given = collector.ask("GET", f"{route}/result?given=note:a:b", "read")
        assert list(given.json()["tables"]) == ["share"], given.text
        longer = collector.ask("GET", f"{route}/result?given=share:note:x", "read")
        assert list(longer.json()["tables"]) == ["share"], longer.text
        collector.service.publishing.publish()
        with collector.service.database.reading() as session:
            items = session.execute("SELECT item FROM latest_estimates WHERE part = 'share' ORDER BY item")
        assert [item for (item,) in items] == ["no", "no answer", "yes"]


def test_parts_with_few_reports_are_left_out_until_they_have_enough(tmp_path):
    with running(tmp_path / "x.db") as collector:
        made = collector.ask("POST", "/v1/studies", json={**FIELDS, "epsilon": 1}).json()
        route, survey = (
            f"/v1/studies/{made['id']}",
            study_in(collector.client.get(f"/v1/studies/{made['id']}/document").text),
        )
        first = survey.parts()[0]
        for people in (49, 1):
            body = first.privatize([{"diet": "any", "stars": 3}] * people).to_bytes()
            headers = {"Upload-Id": secrets.token_hex(16)}
            collector.client.post(f"{route}/parts/{first.fingerprint}/reports", content=body, headers=headers)
            found = collector.ask("GET", f"{route}/result", "read")
            assert found.status_code == (409 if people == 49 else 200)
        assert found.json()["n"] == 50
        assert any("not released yet" in note for note in found.json()["notes"])


def test_what_cannot_be_asked_is_a_problem_that_says_why(tmp_path):
    with running(tmp_path / "x.db") as collector:
        for change, words in (
            ({"questions": {"diet": {"items": ["a", "b"], "if": "age"}}}, "depend on another answer"),
            ({"cross": [["diet", "age"]]}, "there is no question 'age'"),
            ({"questions": None}, 'needs "questions"'),
            ({"questions": {"diet": 3}}, '"items"'),
            ({"questions": {"diet": ["a"]}}, "the question 'diet': a domain needs at least two items"),
            ({"questions": {"age": {"low": 5, "high": 1}}}, "the question 'age': a scale goes up"),
        ):
            answer = collector.ask("POST", "/v1/studies", json={**FIELDS, **change})
            assert answer.status_code == 422
            assert words in answer.json()["detail"]


def test_the_median_rating_of_vegans_by_app_version(tmp_path):
    """What a recipe site wants to know: a questionnaire whose reports carry a label, read by label and by answer."""
    with running(tmp_path / "x.db") as collector:
        fields = {**FIELDS, "segments": ["1.0", "2.0", "3.0"]}
        route = f"/v1/studies/{collector.ask('POST', '/v1/studies', json=fields).json()['id']}"
        survey = study_in(collector.client.get(f"{route}/document").text)
        diet = np.repeat(["vegan", "any"], 2_000)
        for version, stars in (("1.0", 2), ("2.0", 5)):
            answers = {"diet": diet, "stars": np.where(diet == "vegan", stars, 3)}
            for part, some in survey.privatize(answers, seed=stars):
                headers = {"Upload-Id": secrets.token_hex(16), "Segment": version}
                path = f"{route}/parts/{part.fingerprint}/reports"
                assert collector.client.post(path, content=some.to_bytes(), headers=headers).status_code == 201

        def asked(**query):
            return collector.ask("GET", f"{route}/result", "read", params=query)

        for version, median in (("1.0", 2.0), ("2.0", 5.0)):
            found = asked(segment=version, given="diet:vegan").json()
            assert found["n"] == 4_000
            summary = found["tables"]["stars summary"]["columns"]
            assert (summary["of"][1], summary["value"][1]) == ("median", median)
            assert set(found["tables"]) == {"stars", "stars summary"}
        assert asked().json()["n"] == 8_000
        assert asked(segment="3.0").json()["code"] == "too-few-reports"
        assert asked(segment="3.0", given="taste:5").json()["code"] == "invalid-request"  # waiting would not help
        for wrong, word in (
            ("1.0", "such as"),
            ("diet:fish", "'fish' is no answer to 'diet': there are vegan, any"),
            ("taste:5", "there is no question 'taste': the questions are diet, stars"),
        ):
            answer = asked(given=wrong)
            assert answer.status_code == 422, answer.text
            assert word in answer.json()["detail"]
        assert asked(segment="9.9").status_code == 422
