"""One client for every study: a discovery and a survey of sets, over HTTP, by a function and without a network."""

from __future__ import annotations

import pytest
from collectors import collector

import localdp as ldp
from localdp.errors import BudgetError, InvalidInputError, PlanLimitError, PlanMismatchError, StoreError
from localdp.sets import Survey, SurveyClient
from localdp.studies import Single, Tally

DISCOVERY = ldp.Discovery(bits=12, epsilon=2.0, users=20_000, top=3)
SURVEY = Survey(["tea", "milk", "bread"], epsilon=2.0, users=8_000, top=2)
STUDIES = {"discovery": (DISCOVERY, 77, 4_000), "survey": (SURVEY, ["tea", "milk"], [])}
ROUTES = {"discovery": "/v1/discoveries/{}/rounds/{}/reports", "survey": "/v1/studies/{}/parts/{}/reports"}


@pytest.fixture(params=STUDIES)
def study(request):
    return STUDIES[request.param][0]


@pytest.fixture
def values(study):
    return STUDIES[study.what][1:]


def device(study, folder, *, asked=True, kind=ldp.Client, **options):
    """A device that the part under way asks, or one that it does not ask; each has a chance of 5% or more."""
    made = (kind(study.to_json(), store=folder / str(number), **options) for number in range(2_000))
    return next(client for client in made if (client.place in study.round.span) == asked)


def test_a_device_fetches_the_part_under_way_and_answers_once(study, values, tmp_path):
    with collector() as server:
        server.documents[f"/v1/studies/{study.fingerprint}/part"] = study.round.to_json()
        client = device(study, tmp_path, upload=server.url)
        assert client.send(values[0]).delivered == 1
        assert client.send(values[1]).delivered == 0
        again = ldp.Client(study, store=client._store.folder, upload=server.url)
        assert again.send(values[1]).delivered == 0
        ((path, headers, body),) = server.requests
    assert path == f"/v1/studies/{study.fingerprint}/parts/{study.round.fingerprint}/reports"
    assert len(headers["Upload-Id"]) == 32
    assert len(study.round.plan.read(body)) == 1
    assert body == again.report(values[1], study.round.to_json())
    assert client.spent == 2.0


def test_a_device_that_has_answered_fetches_no_more(study, values, tmp_path):
    with collector() as server:
        client = device(study, tmp_path, upload=server.url)
        client.send(values[0], study.round.to_json())
        done = client.send(values[0])  # there is no document to fetch
        assert (done.delivered, done.waiting, done.trouble) == (0, 0, "")


def test_a_report_that_is_put_into_the_outbox_again_has_the_same_id(study, values, tmp_path):
    """The device was stopped before it could note that it had put it there; the collector counts it once."""
    with collector() as server:
        client = device(study, tmp_path, upload=server.url)
        client.send(values[0], study.round.to_json())
        client._answers._posted.unlink()
        client.send(values[1], study.round.to_json())
        (first, second) = server.requests
    assert first[2] == second[2]
    assert first[1]["Upload-Id"] == second[1]["Upload-Id"]


def test_a_device_that_is_not_asked_sends_nothing_and_spends_nothing(study, values, tmp_path):
    with collector() as server:
        server.documents[f"/v1/studies/{study.fingerprint}/part"] = study.round.to_json()
        client = device(study, tmp_path, asked=False, upload=server.url)
        done = client.send(values[0])
        assert (done.delivered, done.waiting, done.trouble) == (0, 0, "")
        assert server.requests == []
    assert client.report(values[0], study.round.to_json()) is None
    assert client.spent == 0


def test_a_report_waits_for_the_network_and_is_sent_to_the_collectors_new_address(study, values, tmp_path):
    with collector([(503, {}), (503, {})]) as server:
        client = device(study, tmp_path, upload=server.url)
        done = client.send(values[0], study.round.to_json())
        assert (done.delivered, done.waiting) == (0, 1)
        assert client.waiting == 1
        first = server.requests[0]
    with collector() as server:
        moved = ldp.Client(study, store=client._store.folder, upload=server.url)
        assert moved.flush(wait=20).delivered == 1
        ((path, headers, body),) = server.requests
    assert (path, headers["Upload-Id"], body) == (first[0], first[1]["Upload-Id"], first[2])
    assert moved.waiting == 0


def test_a_collector_that_does_not_answer_is_no_trouble(study, values, tmp_path):
    with collector() as server:
        client = device(study, tmp_path, upload=server.url)
        server.missing = "a \x1b[31mred\n line"
        assert client.send(values[0]).trouble.endswith("the server answered 404: a [31mred line")  # on a terminal
    assert "could not be fetched" in client.send(values[0]).trouble
    assert client.spent == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_part_is_not_fetched_from_where_a_redirection_leads(tmp_path, status):
    with collector() as server:
        path = f"/v1/studies/{DISCOVERY.fingerprint}/part"
        server.moved[path], server.documents["/elsewhere"] = status, DISCOVERY.round.to_json()
        client = device(DISCOVERY, tmp_path, upload=server.url)
        assert f"the server answered {status}" in client.send(77).trouble
        assert server.requests == []
    assert client.spent == 0


def test_older_names_use_the_addresses_that_they_used(study, values, tmp_path):
    kind = {"discovery": ldp.DiscoveryClient, "survey": SurveyClient}[study.what]
    with collector() as server:
        client = device(study, tmp_path, kind=kind, upload=server.url)
        client.send(values[0], study.round.to_json())
        assert server.requests[0][0] == ROUTES[study.what].format(study.fingerprint, study.round.fingerprint)
    other = ldp.Client(study, store=client._store.folder)
    assert other.place == client.place
    assert other.report(values[1], study.round.to_json()) == server.requests[0][2]


def test_a_function_gets_the_report_and_cannot_be_asked_for_a_part(study, values, tmp_path):
    sent = []
    client = device(study, tmp_path, upload=lambda body, name: sent.append((body, name)))
    with pytest.raises(InvalidInputError, match="give the document of the part"):
        client.send(values[0])
    client.send(values[0], study.round.to_json())
    assert [body for body, _ in sent] == [client.report(values[0], study.round.to_json())]


def test_paid_and_lost_is_refused(study, values, tmp_path):
    client = device(study, tmp_path)
    client.report(values[0], study.round.to_json())
    client._answers._answer.path.unlink()
    with pytest.raises(StoreError, match=f"has paid for an answer in this {study.what}"):
        client.report(values[0], study.round.to_json())


def test_an_answer_that_is_forgotten_before_it_is_paid_for_is_not_given_beside_another(study, values, tmp_path):
    document = study.round.to_json()
    client = device(study, tmp_path)
    budget, pay = client._budget, client._budget.pay

    def killed(*_, before):
        before()
        raise KeyboardInterrupt

    def forgotten_meanwhile(*arguments):
        other = ldp.Client(study, store=client._store.folder)
        other.forget()
        given.append(other.report(values[1], document))
        pay(*arguments)

    given = []
    budget.pay = killed
    with pytest.raises(KeyboardInterrupt):
        client.report(values[0], document)
    budget.pay = forgotten_meanwhile
    assert [client.report(values[0], document)] == given


def test_an_answer_without_a_record_is_not_a_new_device(study, values, tmp_path):
    client = device(study, tmp_path)
    client.report(values[0], study.round.to_json())
    for name in ("device", "device.copy", "lock"):
        (client._store.folder / name).unlink()
    with pytest.raises(StoreError, match="both copies of its record are gone"):
        ldp.Client(study, store=client._store.folder)


def test_limits_and_caps_hold(study, values, tmp_path):
    with pytest.raises(PlanLimitError, match="asks for epsilon 2, and this device gives at most 1"):
        ldp.Client(study, store=tmp_path, most_epsilon=1.0)
    with pytest.raises(BudgetError):
        device(study, tmp_path, most=1.0).report(values[0], study.round.to_json())


def test_a_document_of_another_study_is_refused_and_without_one_nothing_is_said(study, values, tmp_path):
    client = ldp.Client(study, store=tmp_path)
    other = {"discovery": ldp.Discovery(bits=12, epsilon=2.0, users=20_000, name="other")}.get(
        study.what, Survey(["tea", "milk", "bread"], epsilon=2.0, users=8_000, name="other")
    )
    with pytest.raises(PlanMismatchError, match="belongs to another"):
        client.report(values[0], other.round.to_json())
    with pytest.raises(InvalidInputError, match="has several parts: give the document"):
        client.report(values[0])
    with pytest.raises(InvalidInputError, match="a plan in each of its parts"):
        _ = client.plan


def test_an_address_with_a_path_is_for_plans_only(study, tmp_path):
    with pytest.raises(InvalidInputError, match="has no path"):
        ldp.Client(study, store=tmp_path, upload="https://collector.example/v1/somewhere")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_has_no_parts_and_everybody_is_asked(tmp_path):
    plan = ldp.Plan(["tea", "milk"], epsilon=1.0)
    client = ldp.Client(Single(plan), store=tmp_path)
    assert client.plan == plan
    assert client.place is None
    assert client.report("tea") == ldp.Client(plan.to_json(), store=tmp_path).report("tea")
    with pytest.raises(InvalidInputError, match="has no parts"):
        client.report("tea", plan.to_json())
    with pytest.raises(InvalidInputError, match="a client needs a plan"):
        ldp.Client(3, store=tmp_path)


def test_devices_answer_all_parts_of_a_survey_through_a_collector(tmp_path):
    """Every device calls `send` in every round, and answers in one of them."""
    survey = Survey(["tea", "milk", "bread"], epsilon=4.0, users=1_000, top=1)
    with collector() as server:
        clients = [ldp.Client(survey, store=tmp_path / str(n), upload=server.url) for n in range(30)]
        while not survey.done:
            part = survey.round
            server.documents[f"/v1/studies/{survey.fingerprint}/part"] = part.to_json()
            server.requests.clear()
            for client in clients:
                client.send(["tea"])
            assert all(part.fingerprint in path for path, *_ in server.requests)
            tally = Tally().counting(part, part.aggregate(part.privatize([["tea"]] * 200, seed=survey.number)))
            for _, _, body in server.requests:
                tally = tally.counting(part, part.aggregate(part.plan.read(body)))
            survey = survey.advance(tally)
    assert survey.result().n == 4 * 200 + 30
    assert survey.result().items == ["tea"]
    assert {client.spent for client in clients} == {4.0}


def test_upload_ids_do_not_follow_a_device_from_one_study_to_another(tmp_path):
    with collector() as server:
        for number in range(200):
            named = Survey(["tea", "milk", "bread"], epsilon=0.5, users=8_000, top=2, name=str(number))
            client = ldp.Client(named, store=tmp_path, upload=server.url, most=100.0)
            if client.place in named.round.span and client.send(["tea"], named.round.to_json()).delivered:
                ids = {headers["Upload-Id"] for _, headers, _ in server.requests}
                if len(server.requests) == 3:
                    break
    assert len(ids) == 3
