"""A kind of study that the library does not know, with several parts at once, on a collector."""

from __future__ import annotations

import secrets

from running import running

import localdp as ldp
from localdp.plan.part_key import PartKey
from localdp.studies import Places, Span, Study, register
from localdp.studies.single import Whole


@register
class TwoHalves(Study):
    """Two plans at once, each asked of one half of the people: a kind of study that the library does not know."""

    kind, what = "test-halves", "test of halves"

    def __init__(self):
        self.epsilon = 1.0
        self._freeze()

    def document(self):
        return {"format": self.format()}

    @classmethod
    def from_document(cls, document):  # noqa: ARG003
        return cls()

    @property
    def places(self):
        return Places(2)

    def parts(self):
        return tuple(Half(n) for n in range(2))

    def read_part(self, text, limits):  # noqa: ARG002
        return next(part for part in self.parts() if part.to_json() == text.decode())

    def advance(self, tally):  # noqa: ARG002
        return self

    @property
    def done(self):
        return False

    def result(self, tally=None):
        raise NotImplementedError


class Half(Whole):
    """The half that asks devices with this place."""

    def __init__(self, number):
        self.key = ("left", "right")[number]
        self.plan = ldp.Plan(["yes", "no"], "grr", 1.0, part=PartKey(TwoHalves().fingerprint, self.key))
        self.span = Span(number, number + 1, 2)
        self._freeze()


def test_several_parts_at_once_are_chosen_by_the_place_of_a_device(tmp_path):
    with running(tmp_path / "x.db") as collector:
        _several_parts(collector)


def _several_parts(collector):
    made = collector.ask("POST", "/v1/studies", json={"document": TwoHalves().document()}).json()
    route = f"/v1/studies/{made['id']}"
    assert [(part["key"], part["under_way"]) for part in made["parts"]] == [("left", True), ("right", True)]
    which = collector.client.get(f"{route}/part")
    assert (which.status_code, which.json()["code"]) == (422, "which-part")
    for place, half in enumerate(TwoHalves().parts()):
        assert collector.client.get(f"{route}/part?place={place}").text == half.to_json()
        body, headers = half.privatize(["yes"] * 200).to_bytes(), {"Upload-Id": secrets.token_hex(16)}
        sent = collector.client.post(f"{route}/parts/{half.fingerprint}/reports", content=body, headers=headers)
        assert sent.status_code == 201
    nobody = collector.client.get(f"{route}/part?place=2")
    assert (nobody.status_code, nobody.json()["code"]) == (404, "not-asked")
    assert collector.client.get(f"{route}/part?place=x").status_code == 422
    found = collector.ask("GET", f"{route}/result", "read").json()
    assert (found["n"], list(found["tables"])) == (400, ["left", "right"])
