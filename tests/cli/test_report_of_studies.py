"""`localdp report` for a discovery and for a survey of sets, as for a plan."""

from __future__ import annotations

import pytest
from client.collectors import collector
from command import localdp

import localdp as ldp
from localdp.cli.report import NOT_ASKED
from localdp.sets import Survey

STUDIES = {
    "discovery": (ldp.Discovery(bits=12, epsilon=2.0, users=20_000, top=3), "77", "tea"),
    "survey": (Survey(["tea", "milk"], epsilon=2.0, users=1_000, top=1), "tea; milk", "beer"),
}


@pytest.fixture(params=STUDIES)
def study(request):
    return STUDIES[request.param][0]


@pytest.fixture
def folder(study, tmp_path, monkeypatch):
    """A folder with the documents, and stores of a device that is asked, and of one that is not."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "study.json").write_text(study.to_json())
    (tmp_path / "part.json").write_text(study.round.to_json())
    wanted = {True: "asked", False: "others"}
    for number in range(2_000):
        client = ldp.Client(study, store=tmp_path / str(number))
        name = wanted.pop(client.place in study.round.span, None)
        if name is not None:
            (tmp_path / str(number)).rename(tmp_path / name)
        if not wanted:
            break
    return tmp_path


def report(folder, store, *arguments):
    return localdp("report", "--plan", "study.json", "--store", store, *arguments, cwd=folder)


def test_a_device_prints_its_one_report_if_the_part_asks_it(study, folder):
    typed = STUDIES[study.what][1]
    first = report(folder, "asked", "--part", "part.json", typed)
    assert first.returncode == 0, first.stderr
    assert len(study.round.plan.read(first.stdout)) == 1
    assert first.stderr == "spent epsilon 2 of at most 8\n"
    assert report(folder, "asked", "--part", "part.json", typed).stdout == first.stdout
    other = report(folder, "others", "--part", "part.json", typed)
    assert (other.returncode, other.stdout) == (0, "")
    assert other.stderr == f"{NOT_ASKED}; spent epsilon 0 of at most 8\n"


def test_a_device_fetches_the_part_and_sends_its_report(study, folder):
    with collector() as server:
        server.documents[f"/v1/studies/{study.fingerprint}/part"] = study.round.to_json()
        sent = report(folder, "asked", "--upload", server.url, STUDIES[study.what][1])
        assert sent.stdout == "1 delivered, 0 waiting; spent epsilon 2 of at most 8\n", sent.stderr
        assert server.requests[0][0].endswith(f"/parts/{study.round.fingerprint}/reports")


def test_a_device_that_is_not_asked_says_so_and_sends_nothing(study, folder):
    with collector() as server:
        server.documents[f"/v1/studies/{study.fingerprint}/part"] = study.round.to_json()
        sent = report(folder, "others", "--upload", server.url, STUDIES[study.what][1])
        assert sent.stdout == f"{NOT_ASKED}; spent epsilon 0 of at most 8\n", sent.stderr
        assert not [request for request in server.requests if request[0].endswith("/reports")]


def test_what_cannot_be_used_is_one_line(study, folder):
    for arguments, words in (
        ((STUDIES[study.what][1],), "has several parts: give the document of the one under way"),
        (("--part", "part.json", STUDIES[study.what][2]), ""),
        (("--part", "study.json", STUDIES[study.what][1]), "this is not a round of a"),
    ):
        done = report(folder, "asked", *arguments)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert words in done.stderr


def test_a_questionnaire_is_answered_without_a_document_of_a_part(tmp_path):
    survey = ldp.Questionnaire({"diet": ldp.Choice(["vegan", "any"]), "stars": ldp.Scale(1, 5)}, epsilon=2.0)
    (tmp_path / "study.json").write_text(survey.to_json())
    first = report(tmp_path, "device", '{"diet": "vegan", "stars": 4}')
    assert (first.returncode, first.stderr) == (0, "spent epsilon 2 of at most 8\n")
    part = survey.part_at(ldp.Client(survey, store=tmp_path / "device").place)
    assert len(part.plan.read(first.stdout)) == 1
    assert report(tmp_path, "device", '{"diet": "any"}').stdout == first.stdout
    assert "are a JSON object, such as" in report(tmp_path, "device", "vegan").stderr
