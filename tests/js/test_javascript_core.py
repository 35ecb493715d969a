"""The JavaScript client in Node: its own tests, the golden vectors, and the same plans and responses as in Python."""

from __future__ import annotations

import base64
import json
import re
import shutil

import numpy as np
import pytest
from node_tools import JS, NODE, evaluate, needs_node, run
from paths import ROOT, VECTORS

from localdp.client.permanent import permanent_response
from localdp.client.secret import Secret
from localdp.errors import LocalDPError, PlanError
from localdp.mechanisms import CHAINS, MECHANISMS, SET_MECHANISMS
from localdp.plan import Plan

pytestmark = needs_node

_REPORTS = """
return given.map(({ plan: text, secret, held }) => {
  const plan = localdp.Plan.parse(text, { mostEpsilon: 16 });
  const bytes = Uint8Array.from(secret.match(/../g), (pair) => parseInt(pair, 16));
  const keys = localdp.deviceKeys(bytes, plan.fingerprint);
  const index = plan.setSize ? held : held[0];
  const response = plan.permanent(index, localdp.keyedWords(keys.key(index)));
  const batch = Buffer.from(plan.batch(response)).toString("base64");
  return [plan.fingerprint, plan.epsilon, plan.epsilonOnce, plan.reportBytes, batch];
});
"""
_CODES = """
const most = { mostEpsilon: 16, mostReportBytes: 2 ** 24, mostItems: 2 ** 32 };
return given.map((text) => {
  try {
    return localdp.Plan.parse(text, most).fingerprint;
  } catch (error) {
    return error.code ?? String(error);
  }
});
"""
_PIECES = (
    *(
        "2.0",
        "1e0",
        "-0",
        "true",
        "null",
        '"tea"',
        "{}",
        "[]",
        " ",
        "\n",
        "\u00a0",
        "\\u0031",
        "\\ud83c",
        "0",
        "e",
        ".",
    ),
    *('"', ",", ":", "\\", "\0", "é", "9007199254740993", "1E400", '"once":0.5,', '"answers":1,', '"__proto__":1,'),
    *('"set_size":2,', '"set_size":', "_size", '"part":{},', '"name":"x",'),
)


@pytest.mark.parametrize("name", ["core", "independence", "vectors"])
def test_its_own_tests_pass(name):
    found = run([NODE, "--test", f"test/{name}.test.js"])
    assert re.search(r"^# pass [1-9]", found, re.MULTILINE)
    assert re.search(r"^# skipped 0$", found, re.MULTILINE)


def test_the_golden_vectors_are_all_run():
    listed = run(
        [NODE, "--input-type=module", "-e", 'import { FILES } from "./test/vectors.js"; console.log(FILES.join())']
    )
    others = {"questionnaires", "studies"}  # run by `runStudyVectors`
    assert {*listed.strip().split(",")} | others == {path.stem for path in VECTORS.glob("*.json")}


def test_a_changed_vector_is_noticed(tmp_path):
    for part in ("js/src", "js/test", "vectors/v1"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(JS / "package.json", tmp_path / "js")
    changed = tmp_path / "vectors" / "v1" / "grr.json"
    vectors = json.loads(changed.read_text("utf-8"))
    vectors["good"][0]["report"] = base64.b64encode(bytes([2])).decode()
    vectors["bad"][0]["code"] = "bad-json"
    changed.write_text(json.dumps(vectors), "utf-8")
    program = (
        'import { runVectors } from "./test/vectors.js"; import { readFileSync } from "node:fs";'
        'const { failures } = runVectors({ grr: JSON.parse(readFileSync("../vectors/v1/grr.json", "utf8")) });'
        'console.log(failures.map((failure) => failure.split(":")[1].trim()).join("; "))'
    )
    found = run([NODE, "--input-type=module", "-e", program], tmp_path / "js").strip()
    assert found == "good 0, response; good 0, batch; good 0, read; bad, empty"


def test_random_plans_have_the_same_fingerprints_epsilons_and_responses_as_in_python():
    random = np.random.default_rng(17)
    plans = []
    for name in (*MECHANISMS, *CHAINS):
        made = 0
        while made < 8:
            size = int(np.exp(random.uniform(np.log(2), np.log(30_000))))
            epsilon = float(np.exp(random.uniform(np.log(1e-4), np.log(0.69 if name == "hr" else 16))))
            options = {"once": epsilon * random.uniform(0.01, 0.99)} if name in CHAINS else {}
            try:
                plans.append(Plan(size, name, epsilon, **options))
            except LocalDPError:
                continue  # this chain cannot spend as much in one report
            made += 1
    _require_same(plans, [[int(random.integers(plan.domain.size))] for plan in plans], random)


def test_random_plans_of_sets_have_the_same_fingerprints_epsilons_and_responses_as_in_python():
    random = np.random.default_rng(19)
    plans, held = [], []
    for name in sorted({*(name for name, kind in MECHANISMS.items() if kind.takes_sets), *SET_MECHANISMS}):
        made = 0
        while made < 12:
            size = int(np.exp(random.uniform(np.log(2), np.log(30_000))))
            epsilon = float(np.exp(random.uniform(np.log(1e-4), np.log(0.69 if name == "hr" else 16))))
            most = 256 if made % 2 or name in SET_MECHANISMS else 65_536
            set_size = int(np.exp(random.uniform(0, np.log(most + 1))))
            try:
                plan = Plan(size, name, epsilon, set_size=set_size)
            except LocalDPError:
                continue  # this epsilon is too small
            count = random.choice([0, 1, set_size - 1, set_size, set_size + 1, 3 * set_size, size])
            held.append(sorted(random.choice(size, min(int(count), size, 5_000), replace=False).tolist()))
            plans.append(plan)
            made += 1
    lengths = [len(one) - plan.mechanism.set_size for plan, one in zip(plans, held, strict=True)]
    assert min(lengths) < 0 < max(lengths)
    _require_same(plans, held, random)


def _require_same(plans, held, random):
    """Devices with random secrets, whose users hold these items, answer in JavaScript as they do in Python."""
    given = [
        {"plan": plan.to_json(), "secret": random.bytes(32).hex(), "held": items}
        for plan, items in zip(plans, held, strict=True)
    ]
    for plan, asked, found in zip(plans, given, evaluate(_REPORTS, given), strict=True):
        mechanism = plan.mechanism
        message = b"".join(index.to_bytes(8, "little") for index in asked["held"])
        key = Secret(bytes.fromhex(asked["secret"]), plan.fingerprint).key(message)
        response = permanent_response(mechanism, tuple(asked["held"]), key)
        batch = b"LDP1" + bytes.fromhex(plan.fingerprint)[:16] + b"\1\0\0\0" + response
        expected = [plan.fingerprint, mechanism.epsilon, mechanism.epsilon_once, mechanism.report_bytes]
        assert found == [*expected, base64.b64encode(batch).decode()], plan


def test_damaged_plans_are_accepted_or_refused_as_in_python():
    random = np.random.default_rng(18)
    texts = [
        case["plan"] for part in ("good", "bad") for case in json.loads((VECTORS / "plans.json").read_text())[part]
    ]

    def damaged(text):
        for _ in range(int(random.integers(1, 4))):
            place, removed = int(random.integers(len(text) + 1)), int(random.integers(0, 4))
            piece = str(random.choice(_PIECES)) if random.random() < 0.7 else ""
            text = text[:place] + piece + text[place + removed :]
        return text

    given = [damaged(text) for text in texts]
    given += [json.dumps(dict(reversed(json.loads(case).items())), indent=1) for case in texts[:100]]
    expected = [_fingerprint_or_code(text) for text in given]
    assert len({len(found) == 64 for found in expected}) == 2  # some are accepted, and some are not
    assert evaluate(_CODES, given) == expected


def _fingerprint_or_code(text):
    try:
        return Plan.from_json(text).fingerprint
    except PlanError as error:
        return error.code
