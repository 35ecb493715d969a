"""A discovery on a collector: from the first round to the result, by devices over HTTP, on both databases."""

from __future__ import annotations

import secrets
import threading
import time

import numpy as np
import pytest
from running import PATIENCE, running

import localdp as ldp
from audits.recount import differences
from localdp.collector import studies as module
from localdp.collector.storage import open_database, schema
from localdp.discovery.rounds import Round
from localdp.errors import InvalidInputError

ASKED = {"bits": 16, "epsilon": 4.0, "users": 2_000, "top": 3}
HEAVY = [40_000, 7, 123]
KEYS = np.random.default_rng(3).choice([*HEAVY, *range(500, 900)], 2_000, p=[0.4, 0.2, 0.1] + [0.3 / 400] * 400)


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("discoveries") / "x.db") as started:
        yield started


def created(collector, **options):
    answer = collector.ask("POST", "/v1/discoveries", json={**ASKED, **options})
    assert answer.status_code == 201, answer.text
    return answer.json()


def route(made, rest=""):
    return f"/v1/discoveries/{made['fingerprint']}{rest}"


def current(collector, made):
    return Round.from_json(collector.client.get(route(made, "/round")).content)


def post(collector, made, asked, body, upload_id=None, **headers):
    headers = {"Upload-Id": upload_id or secrets.token_hex(16), **headers}
    path = route(made, f"/rounds/{asked.fingerprint}/reports")
    return collector.client.post(path, content=body, headers=headers)


def batch(asked, values):
    encoded = ldp.Discovery(bits=16, epsilon=4.0, users=2_000).code.encode(values)
    return asked.plan.privatize_indices(asked.candidates.indices(encoded), seed=asked.number).to_bytes()


def fill(collector, made):
    """The reports of all simulated users that the round under way asks, in one upload."""
    asked = current(collector, made)
    part = KEYS[int(asked.span.first / 2**20 * 2_000) : int(asked.span.end / 2**20 * 2_000)]
    assert post(collector, made, asked, batch(asked, part)).status_code == 201
    return len(part)


def test_devices_find_the_heavy_keys_and_a_restart_loses_nothing(database_url, tmp_path):
    with running(database_url) as collector:
        made = created(collector, title="Keys", name="whole")
        assert (made["state"], made["round"]["number"], made["round"]["reports"]) == ("running", 0, 0)
        document = collector.client.get(route(made, "/document")).text
        clients = [ldp.DiscoveryClient(document, store=tmp_path / str(n), upload=collector.url) for n in range(12)]
        sent = [client.send(40_000) for client in clients]
        answered = [client for client in clients if client.spent]
        assert all(one.delivered == (client in answered) for one, client in zip(sent, clients, strict=True))
        assert [client.send(7).delivered for client in answered] == [0] * len(answered)  # it is sent once
        filled = fill(collector, made)
        state = collector.ask("GET", route(made), "read").json()
        assert state["round"]["reports"] == filled + len(answered)
        rounds = state["expected_rounds"]
    with running(database_url) as collector:  # after a restart
        for number in range(rounds):
            if number:
                fill(collector, made)
            answer = collector.ask("POST", route(made, f"/advance?round={number}"))
            assert answer.status_code == 200, answer.text
            again = collector.ask("POST", route(made, f"/advance?round={number}"))  # the answer was lost: nothing more
            assert (again.status_code, again.json()["rounds"]) == (200, answer.json()["rounds"])
        assert answer.json()["state"] == "done"
        assert answer.json()["rounds"][0]["reports"] == filled + len(answered)
        found = collector.ask("GET", route(made, "/result"), "read").json()
        assert found["items"]["item"] == [*(str(key) for key in HEAVY), "other"]
        # A deviation of an estimated frequency is about 41 users, and six of them are exceeded once in a billion times.
        assert abs(found["items"]["frequency"][0] - (KEYS == 40_000).sum()) < 6 * 41 + len(answered)
        table = collector.ask("GET", route(made, "/result?format=csv"), "read")
        assert table.text.splitlines()[1].startswith('"40000",')
        done = collector.client.get(route(made, "/round"))
        assert (done.status_code, done.json()["code"]) == (410, "discovery-done")
        assert differences(collector.service.database) == []


def test_rounds_end_by_themselves_if_asked_for(collector):
    made = created(collector, name="automatic", automatic=True)
    for number in range(made["expected_rounds"]):
        fill(collector, made)
        until = time.monotonic() + PATIENCE
        while len((state := collector.ask("GET", route(made), "read").json())["rounds"]) <= number:
            assert time.monotonic() < until
            time.sleep(0.02)
    assert state["state"] == "done"
    assert set(collector.ask("GET", route(made, "/result"), "read").json()["items"]["item"]) >= {"40000", "7"}


def test_a_round_that_is_not_automatic_waits(collector):
    made = created(collector, name="waits")
    fill(collector, made)
    collector.service.studies.end_parts()
    assert collector.ask("GET", route(made), "read").json()["round"]["number"] == 0


def test_uploads_belong_to_their_round_though_plans_are_equal(collector):
    one, two = created(collector, name="one"), created(collector, name="two")
    first, second = current(collector, one), current(collector, two)
    assert first.plan == second.plan
    assert first.fingerprint != second.fingerprint
    body, upload_id = batch(first, KEYS[:150]), secrets.token_hex(16)
    assert post(collector, one, first, body, upload_id).status_code == 201
    assert post(collector, one, first, body, upload_id).status_code == 200  # sent again
    assert post(collector, two, second, body, upload_id).status_code == 201  # the same id in another round is new
    assert post(collector, two, first, body).status_code == 404  # a round of another discovery
    reports = [collector.ask("GET", route(made), "read").json()["round"]["reports"] for made in (one, two)]
    assert reports == [150, 150]


def test_rounds_are_no_plans_of_their_own(collector):
    made = created(collector, name="no plan")
    asked = current(collector, made)
    body = batch(asked, KEYS[:10])
    for name in (asked.fingerprint, asked.fingerprint[:16], asked.plan.fingerprint):
        headers = {"Upload-Id": secrets.token_hex(16)}
        assert collector.client.post(f"/v1/plans/{name}/reports", content=body, headers=headers).status_code == 404
        assert collector.ask("GET", f"/v1/plans/{name}/estimates", "read").status_code == 404
    listed = collector.ask("GET", "/v1/plans", "read").json()["plans"]
    assert asked.fingerprint not in {plan["fingerprint"] for plan in listed}
    assert post(collector, made, asked, body).status_code == 201
    collector.service.folder.round()  # counts plans, and leaves rounds alone
    assert collector.ask("GET", route(made), "read").json()["round"]["reports"] == 10


def test_a_round_that_is_over_takes_nothing_more_and_too_few_reports_do_not_end_one(collector):
    made = created(collector, name="over")
    asked = current(collector, made)
    post(collector, made, asked, batch(asked, KEYS[:99]))
    early = collector.ask("POST", route(made, "/advance?round=0"))
    assert (early.status_code, early.json()["code"]) == (409, "too-few-reports")
    assert "99 reports, and needs at least 100" in early.json()["detail"]
    fill(collector, made)
    assert collector.ask("POST", route(made, "/advance?round=1")).json()["code"] == "not-under-way"
    assert collector.ask("POST", route(made, "/advance?round=0")).status_code == 200
    late = post(collector, made, asked, batch(asked, KEYS[:5]))
    assert (late.status_code, late.json()["code"]) == (409, "plan-closed")
    early = collector.ask("GET", route(made, "/result"), "read")
    assert (early.status_code, early.json()["code"]) == (409, "not-done")


def test_a_collector_that_is_stopped_while_a_round_ends_goes_on_from_what_is_stored(collector, monkeypatch):
    made = created(collector, name="stopped")
    fill(collector, made)
    real = module.Studies._move_on
    monkeypatch.setattr(module.Studies, "_move_on", lambda *_: 1 // 0)
    assert collector.ask("POST", route(made, "/advance?round=0")).status_code == 500
    asked = current(collector, made)
    assert asked.number == 0
    assert post(collector, made, asked, batch(asked, KEYS[:5])).status_code == 409  # it is closed, and stays so
    monkeypatch.setattr(module.Studies, "_move_on", real)
    assert collector.ask("POST", route(made, "/advance?round=0")).json()["round"]["number"] == 1


def test_two_collectors_on_one_postgresql_end_a_round_once(postgres):
    url = postgres()
    with running(url) as one, running(url) as two:
        made = created(one, name="shared")
        two.service.tokens.forget()
        fill(two, made)
        start, after = threading.Barrier(2), []

        def advance(collector):
            start.wait()
            after.append(collector.service.studies.advance(made["fingerprint"], "0"))

        threads = [threading.Thread(target=advance, args=(collector,)) for collector in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [kept.study.number for kept in after] == [1, 1]
        assert len({kept.study.round.fingerprint for kept in after}) == 1
        assert [len(kept.parts) for kept in after] == [2, 2]
        fill(one, made)
        assert two.service.studies.advance(made["fingerprint"], "1").study.done


def test_a_database_from_before_discoveries_is_brought_up_to_date(database_url, monkeypatch):
    plan = ldp.Plan(["tea", "milk"], "grr", 1.0)
    with monkeypatch.context() as before:
        before.setattr(schema, "STEPS", schema.STEPS[:1])
        database = open_database(database_url)
        with database.writing() as session:
            session.execute(
                "INSERT INTO plans (fingerprint, short, document, settings, created) VALUES (?, ?, ?, ?, 0)",
                (plan.fingerprint, plan.fingerprint[:16], plan.to_json(), "{}"),
            )
        database.close()
    with running(database_url) as collector:
        assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201
        assert created(collector, name="new")["round"]["number"] == 0


def test_documents_have_tags_and_devices_of_other_sites_may_fetch_them(collector):
    made = created(collector, name="tags")
    for path, caching in (("/document", "immutable"), ("/round", "no-cache")):
        answer = collector.client.get(route(made, path))
        assert caching in answer.headers["cache-control"]
        assert answer.headers["access-control-allow-origin"] == "*"
        again = collector.client.get(route(made, path), headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert ldp.Discovery(**ASKED, name="tags").to_json() == collector.client.get(route(made, "/document")).text
    assert collector.client.get(f"/v1/discoveries/{made['short']}/round").status_code == 200
    assert collector.client.get(f"/v1/discoveries/{'0' * 64}/round").status_code == 404


def test_the_same_discovery_again_is_the_same_and_other_terms_are_refused(collector):
    made = created(collector, name="same", title="T")
    again = collector.ask("POST", "/v1/discoveries", json={**ASKED, "name": "same", "title": "T"})
    assert (again.status_code, again.json()["created"]) == (200, made["created"])
    other = collector.ask("POST", "/v1/discoveries", json={**ASKED, "name": "same", "title": "another"})
    assert (other.status_code, other.json()["code"]) == (409, "discovery-exists")
    listed = collector.ask("GET", "/v1/discoveries", "read").json()["discoveries"]
    assert [one["fingerprint"] for one in listed].count(made["fingerprint"]) == 1


def test_what_anybody_may_know_of_the_values_is_in_the_document(collector):
    body = {"epsilon": 4, "users": 20_000, "alphabet": "abc", "known": ["a", "cab"], "name": "letters"}
    made = collector.ask("POST", "/v1/discoveries", json=body).json()
    assert made["values"] == {"kind": "text", "most_bytes": 128, "known": 2}
    assert 0.005 < made["reach"]["share"] < 0.1
    assert "With 20,000 people, a value is found with probability 0.9" in made["reach"]["sentence"]
    document = collector.ask("GET", route(made, "/document")).json()
    assert document["values"]["known"] == ["a", "cab"]
    assert [book["word"] for book in document["values"]["books"]] == [""]
    examples = collector.ask("POST", "/v1/discoveries", json={"epsilon": 4, "users": 20_000, "examples": ["tea"]})
    assert examples.status_code == 201


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "JSON object"),
        ({"users": 1_000}, 'needs "epsilon"'),
        ({**ASKED, "more": 1}, "not a field of a discovery"),
        ({**ASKED, "automatic": "yes"}, '"automatic" is true or false'),
        ({**ASKED, "bits": 65}, "the number of bits of a key"),
        ({**ASKED, "bits": True}, "the number of bits of a key"),
        ({**ASKED, "users": 200}, "too few"),
        ({**ASKED, "epsilon": "2"}, "epsilon"),
        ({**ASKED, "most_bytes": 8}, "give one of the two"),
        ({**ASKED, "title": "\x07"}, '"title" is text'),
        ({**ASKED, "known": [1, 1]}, "every known value must be given once"),
        ({"epsilon": 2, "users": 20_000, "alphabet": "a"}, "an alphabet is a text"),
    ],
)
def test_discoveries_that_make_no_sense_are_refused(collector, body, said):
    answer = collector.ask("POST", "/v1/discoveries", json=body)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("query", ["", "?round=", "?round=-1", "?round=x", "?round=99999999"])
def test_advancing_needs_the_number_of_a_round(collector, query):
    made = created(collector, name=f"number {query}")
    assert collector.ask("POST", route(made, f"/advance{query}")).status_code == 422
    assert collector.ask("GET", route(made, "/result?level=2"), "read").status_code == 422


def test_a_token_is_asked_for_if_the_discovery_says_so(collector, tmp_path):
    made = created(collector, name="token", write_token=True)
    asked = current(collector, made)
    assert post(collector, made, asked, batch(asked, KEYS[:5])).status_code == 401
    document = collector.client.get(route(made, "/document")).text
    for number in range(40):
        token = collector.tokens["write"]
        client = ldp.DiscoveryClient(document, store=tmp_path / str(number), upload=collector.url, token=token)
        if client.place < asked.span.end:
            break
    assert client.send(7).delivered == 1


class TestSending:
    """How a device sends its one report."""

    @pytest.fixture
    def made(self, collector):
        return created(collector, name=secrets.token_hex(4))

    def device(self, collector, made, tmp_path, **options):
        """A device that the first round asks."""
        document, asked = collector.client.get(route(made, "/document")).text, current(collector, made)
        for number in range(60):
            client = ldp.DiscoveryClient(document, store=tmp_path / str(number), **options)
            if client.place < asked.span.end:
                return client
        raise AssertionError("sixty devices that are not asked")

    def test_without_a_network_the_same_bytes_are_sent_later(self, collector, made, tmp_path):
        tried, answers = [], iter([OSError("no network"), 503, None])

        def upload(body, upload_id):
            tried.append((body, upload_id))
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return answer

        client = self.device(collector, made, tmp_path, upload=upload)
        question = current(collector, made).to_json()
        assert client.send(7, question).waiting == 1
        for _ in range(2):
            for pause in (tmp_path).rglob("pause"):
                pause.unlink()
            again = client.send(123, question)  # another value, and the same bytes
        assert (again.delivered, again.waiting) == (1, 0)
        assert len(tried) == 3
        assert len(set(tried)) == 1
        assert client.send(7, question).delivered == 0
        with pytest.raises(InvalidInputError, match="a function cannot be asked"):
            self.device(collector, made, tmp_path / "other", upload=upload).send(7)

    def test_a_second_copy_of_the_report_is_counted_once(self, collector, made, tmp_path):
        client = self.device(collector, made, tmp_path, upload=collector.url)
        assert client.send(7).delivered == 1
        next((client._store.folder / "discoveries").glob("*.posted")).unlink()
        assert client.send(7).delivered == 1
        assert collector.ask("GET", route(made), "read").json()["round"]["reports"] == 1

    def test_a_server_that_does_not_answer_costs_nothing(self, collector, made, tmp_path):
        client = self.device(collector, made, tmp_path, upload="http://127.0.0.1:9")
        done = client.send(7)
        assert (done.delivered, done.waiting, client.spent) == (0, 0, 0.0)
        assert "could not be fetched" in done.trouble

    def test_a_report_for_a_round_that_is_over_is_dropped_with_a_word(self, collector, made, tmp_path):
        client = self.device(collector, made, tmp_path, upload=collector.url)
        question = current(collector, made).to_json()
        fill(collector, made)
        collector.ask("POST", route(made, "/advance?round=0"))
        done = client.send(7, question)
        assert (done.delivered, done.waiting) == (0, 0)
        assert "plan-closed" in done.dropped[0]

    def test_an_address_with_a_path_and_a_client_without_an_address_are_refused(self, collector, made, tmp_path):
        with pytest.raises(InvalidInputError, match="has no path"):
            self.device(collector, made, tmp_path, upload="http://127.0.0.1/other")
        with pytest.raises(InvalidInputError, match="does not know where to send"):
            self.device(collector, made, tmp_path).send(7)
