"""Who may use which route, and what every answer has: for every route of the application itself."""

from __future__ import annotations

import pytest
from running import running
from starlette.routing import Route

from localdp.collector.app import create_app
from localdp.collector.guard import HEADERS
from localdp.collector.routes import ROUTES
from localdp.collector.routes.pages import POLICY
from localdp.collector.routes.route import Endpoint

ID = "ab" * 16
PUBLIC = {
    ("GET", "/v1/plans/{plan}/document"),
    ("GET", "/v1/studies/{study}/document"),
    ("GET", "/v1/studies/{study}/part"),
    ("GET", "/v1/studies/{study}/wording"),
    ("GET", "/v1/discoveries/{discovery}/document"),
    ("GET", "/v1/discoveries/{discovery}/round"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
}
"""All that needs no token. A route that is not here must ask for one."""
OPEN = {
    "/v1/plans/{plan}/reports",
    "/v1/plans/{plan}/document",
    "/v1/studies/{study}/document",
    "/v1/studies/{study}/part",
    "/v1/studies/{study}/wording",
    "/v1/studies/{study}/parts/{part}/reports",
    "/v1/discoveries/{discovery}/document",
    "/v1/discoveries/{discovery}/round",
    "/v1/discoveries/{discovery}/rounds/{round}/reports",
}
"""What pages of other sites may use."""
ENOUGH = {"write": ("write", "admin"), "read": ("read", "admin"), "admin": ("admin",)}


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("guarded") / "x.db") as started:
        yield started


@pytest.fixture(scope="module")
def plan(collector):
    return collector.collection(write_token=True, title="Needs a token")


def _of_the_app(collector):
    """Method, path and scope of all routes that the application has; not what browsers ask before a request."""
    app = create_app(collector.service)._app
    assert all(isinstance(route, Route) for route in app.routes)
    return {
        (method, route.path): getattr(route.app, "route", None)
        for route in app.routes
        if not route.path.startswith(("/dashboard/", "/client/", "/embed"))  # files without data
        for method in route.methods - {"HEAD", "OPTIONS"}
    }


@pytest.fixture(scope="module", autouse=True)
def discovery(collector):
    """Studies whose uploads need a token: what `_path` puts into the routes of discoveries and of studies."""
    asked = {"bits": 16, "epsilon": 2.0, "users": 2_000, "write_token": True}
    made = collector.ask("POST", "/v1/discoveries", json=asked).json()
    collector.discovery = made["fingerprint"], made["round"]["fingerprint"]
    asked = {"kind": "sets", "size": 9, "epsilon": 2.0, "users": 2_000, "write_token": True}
    made, to_close = (collector.ask("POST", "/v1/studies", json={**asked, "name": name}).json() for name in "ab")
    collector.study, collector.to_close = (made["id"], made["parts"][0]["fingerprint"]), to_close["id"]


def _path(collector, plan, route, number="999999"):
    fingerprint, asked = collector.discovery
    path = route.path.replace("{plan}", plan.fingerprint).replace("{token}", number)
    path = path.replace("{discovery}", fingerprint).replace("{round}", asked)
    path = path.replace("{study}/close", f"{collector.to_close}/close")
    return path.replace("{study}", collector.study[0]).replace("{part}", collector.study[1])


def _request(collector, plan, route, authorization):
    path = _path(collector, plan, route)
    headers = {"Upload-Id": ID, **({} if authorization is None else {"Authorization": authorization})}
    return collector.client.request(route.method, path, headers=headers, content=b"x" if route.body else None)


def _assert_headers(answer):
    for name, value in HEADERS:
        given = answer.headers[name.decode()]
        if name == b"content-security-policy" and answer.headers.get("content-type", "").startswith("text/html"):
            given = given.replace(POLICY, value.decode())  # the dashboard has a policy of its own
        if name not in (b"cache-control", b"cross-origin-resource-policy"):
            assert given == value.decode()
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


def test_the_application_has_the_routes_that_are_described(collector):
    found = _of_the_app(collector)
    assert set(found) == {(route.method, route.path) for route in ROUTES}
    assert all(isinstance(route.app, Endpoint) for route in create_app(collector.service)._app.routes[: len(ROUTES)])
    document = collector.client.get("/openapi.json").json()
    assert {(method.upper(), path) for path, one in document["paths"].items() for method in one} == set(found)
    assert {key for key, route in found.items() if route.scope is None} == PUBLIC


def test_every_route_refuses_no_token_a_wrong_one_a_wrong_scope_and_a_revoked_one(collector, plan):
    made = {
        scope: collector.ask("POST", "/v1/tokens", json={"scope": scope}).json() for scope in ("write", "read", "admin")
    }
    for one in made.values():
        assert collector.ask("DELETE", f"/v1/tokens/{one['id']}").status_code == 204
    tried = 0
    for route in _of_the_app(collector).values():
        if route.scope is None:
            continue
        wrong = {
            "no token": (None, 401),
            "another kind": (f"Basic {collector.tokens['admin']}", 401),
            "empty": ("Bearer", 401),
            "unknown": ("Bearer ldp_" + "A" * 43, 401),
            "almost": (f"Bearer {collector.tokens['admin'][:-1]}", 401),
            "revoked": (f"Bearer {made[ENOUGH[route.scope][0]]['token']}", 401),
        }
        for scope in set(collector.tokens) - set(ENOUGH[route.scope]):
            wrong[f"scope {scope}"] = (f"Bearer {collector.tokens[scope]}", 403)
        for what, (authorization, status) in wrong.items():
            answer = _request(collector, plan, route, authorization)
            assert answer.status_code == status, (route.method, route.path, what, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == status
            assert ("www-authenticate" in answer.headers) == (status == 401)
            _assert_headers(answer)
            tried += 1
        for scope in ENOUGH[route.scope]:
            answer = _request(collector, plan, route, f"Bearer {collector.tokens[scope]}")
            assert answer.status_code not in (401, 403), (route.method, route.path, scope)
            _assert_headers(answer)
    assert tried >= 7 * (len(ROUTES) - len(PUBLIC))


@pytest.mark.parametrize("route", [route for route in ROUTES if route.scope is None], ids=lambda route: route.path)
def test_public_routes_answer_with_the_headers_too(collector, plan, route):
    answer = _request(collector, plan, route, None)
    assert answer.status_code == 200
    _assert_headers(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/plans/", 404),
        ("PUT", "/v1/plans", 405),
        ("GET", "/v1/plans/{plan}/reports", 405),
        ("GET", "/v1/plans/zzz/document", 404),
        ("GET", "/v1/plans/{short}/document", 200),
        ("GET", f"/v1/plans/{'0' * 64}/document", 404),
        ("GET", "/healthz?x=1", 422),
        ("POST", f"/v1/plans/{'0' * 64}/reports", 404),
        ("TRACE", "/healthz", 405),
    ],
)
def test_what_is_not_a_route_is_a_problem_document(collector, plan, method, path, status):
    path = path.replace("{plan}", plan.fingerprint).replace("{short}", plan.fingerprint[:16])
    answer = collector.client.request(method, path)
    assert answer.status_code == status
    _assert_headers(answer)
    if status != 200:
        assert answer.json()["code"]
    if status == 405:
        assert answer.headers["allow"]


def test_pages_of_other_sites_may_upload_and_fetch_the_plan_and_nothing_else(collector, plan):
    for route in ROUTES:
        path = _path(collector, plan, route, "1")
        asked = collector.client.options(path, headers={"Origin": "https://x.example"})
        answered = _request(collector, plan, route, None)
        is_open = route.path in OPEN
        assert ("access-control-allow-origin" in asked.headers) == is_open, route.path
        assert ("access-control-allow-origin" in answered.headers) == is_open, route.path
        if is_open:
            assert asked.status_code == 204
            assert "Upload-Id" in asked.headers["access-control-allow-headers"]
            assert answered.headers.get_list("access-control-allow-origin") == ["*"]
            assert answered.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]


def test_a_mistake_of_ours_shows_no_traceback(collector, monkeypatch, caplog):
    monkeypatch.setattr(type(collector.service.collections), "every", lambda _: 1 // 0)
    answer = collector.ask("GET", "/v1/plans")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal-error"
    assert "ZeroDivision" not in answer.text
    assert "Traceback" not in answer.text
    _assert_headers(answer)
    assert "GET /v1/plans" in caplog.text


def test_a_token_for_one_plan_is_good_for_no_other(collector):
    plan, other = (collector.collection(write_token=True, epsilon=epsilon) for epsilon in (1.0, 1.5))
    token = collector.ask("POST", "/v1/tokens", json={"scope": "write", "plan": plan.fingerprint[:16]}).json()
    assert token["plan"] == plan.fingerprint
    bearer = {"Authorization": f"Bearer {token['token']}"}
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes(), **bearer).status_code == 201
    assert collector.upload(other, other.privatize(["tea"]).to_bytes(), **bearer).status_code == 403


def test_tokens_are_stored_as_digests_and_shown_once(collector):
    made = collector.ask("POST", "/v1/tokens", json={"scope": "read", "name": "analyst"}).json()
    listed = collector.ask("GET", "/v1/tokens").json()["tokens"]
    assert {"id", "name", "scope", "plan", "created", "revoked", "expires", "used"} == set(listed[0])
    assert made["token"] not in str(listed)
    stored = b"".join(path.read_bytes() for path in collector.service.database.path.parent.iterdir())
    assert made["token"].encode() not in stored


def test_the_last_admin_token_stays(tmp_path):
    with running(tmp_path / "x.db") as alone:
        (admin,) = [one for one in alone.ask("GET", "/v1/tokens").json()["tokens"] if one["scope"] == "admin"]
        answer = alone.ask("DELETE", "/v1/tokens", params={"id": admin["id"]})
        assert (answer.status_code, answer.json()["code"]) == (409, "last-admin")
        assert alone.ask("GET", "/v1/tokens").status_code == 200
        assert alone.ask("DELETE", "/v1/tokens", params={"id": "1e9"}).status_code == 422
        assert alone.ask("DELETE", "/v1/tokens", params={"id": "12345"}).status_code == 404


@pytest.mark.parametrize(
    "body",
    ['{"scope": "all"}', "[]", '{"scope": "read", "name": "\\n"}', '{"scope": "admin", "plan": "ab"}', '{"more": 1}'],
)
def test_tokens_that_make_no_sense_are_refused(collector, body):
    assert collector.ask("POST", "/v1/tokens", content=body).status_code == 422


def test_a_page_with_a_wrong_address_may_read_that_it_is_wrong(collector):
    headers = {"Origin": "https://x.example", "Access-Control-Request-Method": "POST"}
    asked = collector.client.options("/v1/plan/x/reports", headers=headers)
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, "*")
    for method in ("GET", "POST"):
        answer = collector.client.request(method, "/v1/plan/x/reports")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
        assert answer.headers.get_list("access-control-allow-origin") == ["*"]


def test_a_study_that_is_asked_for_as_a_plan_is_named(collector):
    asked = {"kind": "questionnaire", "questions": {"a": ["x", "y"], "b": ["x", "y"]}, "epsilon": 1}
    made = collector.ask("POST", "/v1/studies", json=asked).json()
    for name in (made["id"], made["fingerprint"]):
        answer = collector.client.get(f"/v1/plans/{name}/document")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-plan")
        assert f"/v1/studies/{name}" in answer.json()["detail"]
    assert "in hex digits" in collector.client.get(f"/v1/plans/{'0' * 64}/document").json()["detail"]
