"""Studies of every kind on a collector: one family of routes, from creation to the result, on both databases."""

from __future__ import annotations

import secrets
import threading
import time

import numpy as np
import pytest
from running import ITEMS, PATIENCE, running

import localdp as ldp
from localdp.collector import studies as module
from localdp.sets import Survey
from localdp.studies import Single, study_in

SETS = {"kind": "sets", "items": ["tea", "milk", "bread", "rice", "eggs"], "epsilon": 4.0, "users": 2_000, "top": 2}
KEYS = {"kind": "discovery", "bits": 16, "epsilon": 4.0, "users": 2_000, "top": 2}
CHOICE = {"kind": "plan", "items": ITEMS, "mechanism": "grr", "epsilon": 2.0}
BASKETS = [["tea", "milk"], ["tea", "milk", "eggs"], ["tea"], ["tea", "rice"], []] * 400
HELD = {"sets": BASKETS, "discovery": [40_000] * 1_200 + [7] * 600 + [123] * 200, "plan": ITEMS * 500}


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("studies") / "x.db") as started:
        yield started


def created(collector, asked, **options):
    answer = collector.ask("POST", "/v1/studies", json={**asked, **options})
    assert answer.status_code == 201, answer.text
    return answer.json()


def route(made, rest=""):
    return f"/v1/studies/{made['id']}{rest}"


def seen(collector, made):
    return collector.ask("GET", route(made), "read").json()


def part_of(collector, made):
    """The part under way, as a device reads it."""
    study = study_in(collector.client.get(route(made, "/document")).content)
    return study.part_in(collector.client.get(route(made, "/part")).content)


def post(collector, made, part, body, upload_id=None, **headers):
    path = route(made, f"/parts/{part.fingerprint}/reports")
    headers = {"Upload-Id": upload_id or secrets.token_hex(16), **headers}
    return collector.client.post(path, content=body, headers=headers)


def fill(collector, made, seed=1):
    """The reports of the simulated people that the part under way asks, in one upload: how many there are."""
    part = part_of(collector, made)
    places = np.random.default_rng(seed).integers(0, part.span.of, len(HELD[made["kind"]]))
    held = [value for value, place in zip(HELD[made["kind"]], places, strict=True) if place in part.span]
    assert post(collector, made, part, part.privatize(held, seed=seed).to_bytes()).status_code == 201
    return len(held)


def finish(collector, made):
    """Fill parts until the study is done."""
    while seen(collector, made)["state"] != "done":
        fill(collector, made)
        key = next(part["key"] for part in seen(collector, made)["parts"] if part["under_way"])
        answer = collector.ask("POST", route(made, f"/advance?part={key}"))
        assert answer.status_code == 200, answer.text


def test_devices_answer_a_survey_of_sets_and_its_rounds_end_by_themselves(database_url, tmp_path):
    with running(database_url) as collector:
        made = created(collector, SETS, title="Baskets")
        assert (made["kind"], made["state"], made["automatic"], made["title"]) == ("sets", "open", True, "Baskets")
        survey = Survey(SETS["items"], epsilon=4.0, users=2_000, top=2)
        assert made["fingerprint"] == survey.fingerprint
        assert made["form"] == survey.document()
        (part,) = made["parts"]
        assert (part["key"], part["reports"], part["closed"], part["under_way"]) == ("0", 0, None, True)
        document, sent = collector.client.get(route(made, "/document")).text, 0
        devices = [ldp.Client(document, store=tmp_path / str(n), upload=collector.url) for n in range(8)]
        for number in range(4):
            delivered = [device.send(["tea", "milk"]).delivered for device in devices]  # most of them are not asked
            sent += sum(delivered)
            filled = fill(collector, made) + sum(delivered)
            until = time.monotonic() + PATIENCE
            while (state := seen(collector, made))["state"] != "done" and len(state["parts"]) <= number + 1:
                assert time.monotonic() < until
                time.sleep(0.02)
            over = state["parts"][number]
            assert (over["reports"], over["under_way"], over["suspect"]) == (filled, False, 0)
            assert over["closed"] is not None
        assert state["state"] == "done"
        assert sent == sum(device.spent > 0 for device in devices) == len(devices)  # everybody was asked, once
        found = collector.ask("GET", route(made, "/result"), "read").json()
        assert (found["kind"], found["fingerprint"]) == ("sets", made["fingerprint"])
        assert found["n"] == sum(part["reports"] for part in state["parts"])
        # Half of the people hold neither: at epsilon 4 the last two of five items are more than ten deviations away.
        assert found["tables"]["items"]["columns"]["item"] == ["tea", "milk"]
        over = collector.client.get(route(made, "/part"))
        assert (over.status_code, over.json()["code"]) == (409, "study-done")


@pytest.mark.parametrize("asked", [SETS, KEYS, CHOICE], ids=lambda asked: asked["kind"])
def test_every_kind_is_found_by_its_id_its_fingerprint_and_its_short_name(collector, asked):
    made = created(collector, asked, title="Found")
    listed = collector.ask("GET", "/v1/studies", "read").json()["studies"]
    assert made["id"] in {one["id"] for one in listed}
    for name in (made["id"], made["fingerprint"], made["short"]):
        one = collector.ask("GET", f"/v1/studies/{name}", "read").json()
        assert one.keys() - made.keys() <= {"progress"}
        assert {**one, "form": made["form"]}.items() >= made.items()
        answer = collector.client.get(f"/v1/studies/{name}/document")
        assert answer.headers["etag"] == f'"{made["fingerprint"]}"'
        assert answer.json() == made["form"]
        part = collector.client.get(f"/v1/studies/{name}/part")
        assert part.headers["etag"] == f'"{made["parts"][0]["fingerprint"]}"'
        again = collector.client.get(f"/v1/studies/{name}/part", headers={"If-None-Match": part.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    collector.ask("POST", route(made, "/close"))


@pytest.mark.parametrize("name", ["0" * 64, "0" * 16, "c" + "0" * 20, "c" + "z" * 20, "x", "C" + "0" * 20])
def test_what_is_not_there_is_a_problem(collector, name):
    for method, rest in (("GET", ""), ("GET", "/document"), ("GET", "/part"), ("GET", "/result"), ("POST", "/close")):
        answer = collector.ask(method, f"/v1/studies/{name}{rest}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-study")


@pytest.mark.parametrize("asked", [SETS, KEYS], ids=lambda asked: asked["kind"])
def test_parts_end_once_by_their_key_and_the_result_comes_in_every_format(collector, asked):
    made = created(collector, asked, name="by hand", automatic=False)
    early = collector.ask("GET", route(made, "/result"), "read")
    assert (early.status_code, early.json()["code"]) == (409, "not-done")
    early = collector.ask("POST", route(made, "/advance"))
    assert (early.status_code, early.json()["code"]) == (409, "too-few-reports")
    filled = fill(collector, made)
    collector.service.studies.end_parts()  # it is not automatic
    assert seen(collector, made)["parts"][0]["reports"] == filled
    first = part_of(collector, made)
    assert collector.ask("POST", route(made, "/advance?part=1")).json()["code"] == "not-under-way"
    after = collector.ask("POST", route(made, "/advance?part=0"))
    assert [part["under_way"] for part in after.json()["parts"]] == [False, True]
    again = collector.ask("POST", route(made, "/advance?part=0"))  # the answer was lost: nothing more
    assert (again.status_code, again.json()) == (200, after.json())
    late = post(collector, made, first, first.privatize(HELD[made["kind"]][:5]).to_bytes())
    assert (late.status_code, late.json()["code"]) == (409, "plan-closed")
    finish(collector, made)
    assert collector.ask("POST", route(made, "/advance")).json()["state"] == "done"
    found = collector.ask("GET", route(made, "/result"), "read").json()
    columns = found["tables"]["items"]["columns"]
    assert columns["item"] == {"sets": ["tea", "milk"], "discovery": ["40000", "7", "other"]}[made["kind"]]
    rows = collector.ask("GET", route(made, "/result?format=csv&table=items"), "read").text.splitlines()
    assert rows[0].startswith(",".join(f'"{name}"' for name in columns))
    assert len(rows) == 1 + len(columns["item"])
    pyarrow = pytest.importorskip("pyarrow")
    data = collector.ask("GET", route(made, "/result?format=arrow"), "read").content
    assert pyarrow.ipc.open_file(data).read_all()["item"].to_pylist() == columns["item"]
    for query in ("?format=xml", "?table=none", "?level=0.9"):
        assert collector.ask("GET", route(made, f"/result{query}"), "read").status_code == 422


def test_a_plan_is_one_study_by_both_families_of_routes(collector):
    made = created(collector, CHOICE, title="Both", epsilon=1.5, minimum=10)
    assert "automatic" not in made
    same = collector.ask("POST", "/v1/plans", json={**CHOICE, "kind": None, "title": "Both", "epsilon": 1.5})
    assert same.status_code == 422  # a plan has no kind
    body = {key: value for key, value in CHOICE.items() if key != "kind"} | {"title": "Both", "epsilon": 1.5}
    same = collector.ask("POST", "/v1/plans", json={**body, "minimum": 10})
    assert (same.status_code, same.json()["id"]) == (200, made["id"])
    early = collector.ask("GET", route(made, "/result"), "read")
    assert (early.status_code, early.json()["code"]) == (409, "too-few-reports")
    part = part_of(collector, made)
    fill(collector, made)
    collector.upload(part.plan, part.privatize(["tea"] * 50).to_bytes())  # by the other family
    collector.fold(part.plan)
    assert seen(collector, made)["parts"][0]["reports"] == 2_050
    estimates = collector.ask("GET", f"/v1/plans/{made['fingerprint']}/estimates", "read").json()
    found = collector.ask("GET", route(made, "/result"), "read").json()
    assert (found["n"], found["tables"]["items"]["columns"]) == (2_050, estimates["items"])
    refused = collector.ask("POST", route(made, "/advance"))
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing-follows")
    assert collector.ask("POST", route(made, "/close")).json()["state"] == "closed"
    assert collector.state(part.plan)["state"] == "closed"
    closed = post(collector, made, part, part.privatize(["tea"]).to_bytes())
    assert (closed.status_code, closed.json()["code"]) == (409, "plan-closed")
    over = collector.client.get(route(made, "/part"))
    assert (over.status_code, over.json()["code"]) == (409, "study-closed")
    assert len(collector.ask("GET", route(made, "/result"), "read").json()["tables"]) == 1  # the result stays


def test_a_study_that_was_closed_does_not_go_on(collector):
    made = created(collector, SETS, name="closed early")
    part = part_of(collector, made)
    with collector.service.studies._one_at_a_time:  # the thread that ends rounds waits
        fill(collector, made)
        collector.ask("POST", route(made, "/close"))
    collector.service.studies.end_parts()
    state = seen(collector, made)
    assert (state["state"], [part["under_way"] for part in state["parts"]]) == ("closed", [False])
    for answer in (collector.ask("POST", route(made, "/advance")), collector.client.get(route(made, "/part"))):
        assert (answer.status_code, answer.json()["code"]) == (409, "study-closed")
    answer = collector.ask("GET", route(made, "/result"), "read")
    assert (answer.status_code, answer.json()["code"]) == (409, "not-done")
    assert post(collector, made, part, part.privatize([["tea"]]).to_bytes()).status_code == 409


def test_uploads_belong_to_their_part_and_their_study(collector):
    one, two = (created(collector, SETS, name=name, automatic=False) for name in ("one", "two"))
    first, second = part_of(collector, one), part_of(collector, two)
    assert first.plan == second.plan
    body, upload_id = first.privatize([["tea"]] * 150).to_bytes(), secrets.token_hex(16)
    assert post(collector, one, first, body, upload_id).status_code == 201
    assert post(collector, one, first, body, upload_id).status_code == 200  # sent again
    assert post(collector, two, second, body, upload_id).status_code == 201  # the same id in another study is new
    wrong = post(collector, two, first, body)
    assert (wrong.status_code, wrong.json()["code"]) == (404, "no-such-study")
    assert [seen(collector, made)["parts"][0]["reports"] for made in (one, two)] == [150, 150]
    plan = f"/v1/plans/{first.fingerprint}"  # a part is no plan of its own
    assert collector.client.post(f"{plan}/reports", content=body, headers={"Upload-Id": upload_id}).status_code == 404
    assert collector.client.get(f"/v1/discoveries/{one['fingerprint']}/document").status_code == 404


def test_a_token_for_one_study_is_good_for_no_other(collector):
    one, two = (created(collector, SETS, name=name, write_token=True) for name in ("mine", "theirs"))
    token = collector.ask("POST", "/v1/tokens", json={"scope": "write", "plan": one["id"]}).json()
    assert token["plan"] == one["fingerprint"]
    bearer = {"Authorization": f"Bearer {token['token']}"}
    for made, status in ((one, 201), (two, 403)):
        part = part_of(collector, made)
        body = part.privatize([["tea"]]).to_bytes()
        assert post(collector, made, part, body).status_code == 401
        assert post(collector, made, part, body, **bearer).status_code == status
    assert collector.ask("POST", "/v1/tokens", json={"scope": "write", "plan": "0" * 64}).status_code == 404


def test_a_discovery_is_one_study_by_both_families_of_routes(collector, tmp_path):
    made = created(collector, KEYS, name="both", automatic=False)
    older = collector.ask("GET", f"/v1/discoveries/{made['fingerprint']}", "read").json()
    assert (older["state"], older["round"]["fingerprint"]) == ("running", made["parts"][0]["fingerprint"])
    document = collector.client.get(f"/v1/discoveries/{made['short']}/document").text
    kinds = (ldp.Client, ldp.DiscoveryClient)
    devices = [kinds[n % 2](document, store=tmp_path / str(n), upload=collector.url) for n in range(12)]
    delivered = sum(device.send(7).delivered for device in devices)
    assert seen(collector, made)["parts"][0]["reports"] == delivered
    fill(collector, made)
    assert collector.ask("POST", f"/v1/discoveries/{made['short']}/advance?round=0").json()["round"]["number"] == 1
    finish(collector, made)
    older = collector.ask("GET", f"/v1/discoveries/{made['short']}/result", "read").json()
    assert older["items"]["item"] == ["40000", "7", "other"]


def test_two_collectors_on_one_postgresql_end_a_round_of_a_survey_once(postgres):
    url = postgres()
    with running(url) as one, running(url) as two:
        made = created(one, SETS, automatic=False)
        two.service.tokens.forget()
        filled, start, after = fill(one, made), threading.Barrier(2), []

        def advance(collector):
            start.wait()
            after.append(collector.service.studies.advance(made["id"], "0"))

        threads = [threading.Thread(target=advance, args=(collector,)) for collector in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(kept.step, len(kept.parts), kept.parts[0].reports) for kept in after] == [(1, 2, filled)] * 2
        assert len({kept.study.round.fingerprint for kept in after}) == 1
        filled, counted = fill(one, made), one.service.studies._counted

        def too_late(*part):
            two.service.studies.advance(made["id"], "1")  # the other one is first while this one counts
            return counted(*part)

        one.service.studies._counted = too_late
        kept = one.service.studies.advance(made["id"], "1")
        assert (kept.step, len(kept.parts), kept.parts[1].reports) == (2, 3, filled)


def test_a_study_that_cannot_go_on_does_not_stop_the_others(collector, monkeypatch, caplog):
    stuck, well = (created(collector, SETS, name=name) for name in ("stuck", "well"))
    advance = module.Studies.advance

    def refusing(self, name, key=None):
        if name == stuck["fingerprint"]:
            raise module.Problem(409, "too-few-reports", "not enough")
        return advance(self, name, key)

    monkeypatch.setattr(module.Studies, "advance", refusing)
    fill(collector, stuck)
    fill(collector, well)
    collector.service.studies.end_parts()
    assert len(seen(collector, well)["parts"]) == 2
    assert len(seen(collector, stuck)["parts"]) == 1
    assert "could not be ended: not enough" in caplog.text


@pytest.mark.parametrize("kind", ["sets", "discovery", "plan"])
def test_a_form_is_taken_as_it_is_and_the_same_request_again_is_the_same(collector, kind):
    study = {
        "sets": Survey(["a", "b", "c"], epsilon=2.0, users=5_000, name="form"),
        "discovery": ldp.Discovery(bits=16, epsilon=2.0, users=5_000, name="form"),
        "plan": Single(ldp.Plan(["a", "b", "c"], epsilon=2.0)),
    }[kind]
    made = created(collector, {"document": study.document()}, title="T")
    assert (made["fingerprint"], made["kind"]) == (study.fingerprint, kind)
    again = collector.ask("POST", "/v1/studies", json={"document": study.document(), "title": "T"})
    assert (again.status_code, again.json()["id"]) == (200, made["id"])
    other = collector.ask("POST", "/v1/studies", json={"document": study.document(), "title": "another"})
    assert (other.status_code, other.json()["code"]) == (409, "study-exists")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "JSON object"),
        ({}, 'a "kind" or a "document"'),
        ({**SETS, "document": {}}, 'a "kind" or a "document"'),
        ({"kind": "poll"}, '"kind" is one of plan, discovery, questionnaire, sets'),
        ({"kind": ["sets"]}, '"kind" is one of'),
        ({**SETS, "bits": 16}, "'bits' is not a field of a study of the kind sets"),
        ({**KEYS, "items": ["a", "b"]}, "'items' is not a field of a study of the kind discovery"),
        ({**SETS, "users": None}, 'needs "users"'),
        ({**SETS, "users": 10}, "at least 1,000 users"),
        ({**SETS, "items": None}, 'give either "items"'),
        ({**SETS, "size": 5}, 'give either "items"'),
        ({**SETS, "items": "tea"}, '"items" is a list of items'),
        ({**SETS, "items": [["tea"], ["milk"]]}, '"items" is a flat list'),
        ({**SETS, "items": None, "size": 10**9}, "this collector takes plans of at most"),
        ({**SETS, "items": ["a\u202eb", "c"]}, "cannot be seen"),
        ({**SETS, "epsilon": "2"}, "epsilon"),
        ({**SETS, "automatic": 1}, '"automatic" is true or false'),
        ({**SETS, "minimum": -1}, '"minimum" is a number of reports'),
        ({**SETS, "closes": "2020-01-01", "name": "over"}, "in the past"),
        ({**CHOICE, "automatic": True}, "for studies whose parts end"),
        ({**CHOICE, "items": ["one"]}, "two"),
        ({"document": []}, '"document" is a JSON object'),
        ({"document": {"format": "localdp-sets/1"}}, "this is not a survey of sets"),
        ({"document": {"format": "localdp-poll/1"}}, "not a plan"),
        ({"document": {}, "epsilon": 1}, "not a field of a study that is given by its document"),
    ],
)
def test_studies_that_make_no_sense_are_refused(collector, body, said):
    answer = collector.ask("POST", "/v1/studies", json=body)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]


def test_the_minimum_holds_for_every_part(collector):
    made = created(collector, SETS, name="minimum", minimum=450)
    assert made["parts"][0]["needed"] == 450
    part = part_of(collector, made)
    for reports, status in ((449, 409), (1, 200)):
        assert post(collector, made, part, part.privatize([["tea"]] * reports).to_bytes()).status_code == 201
        answer = collector.ask("POST", route(made, "/advance?part=0"))
        assert answer.status_code == status, answer.text
