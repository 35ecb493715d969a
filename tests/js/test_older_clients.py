"""A page that kept an older client works with today's collector, and today's client with a collector of before."""

from __future__ import annotations

import sys

import pytest
from node_tools import JS, evaluate, needs_node
from paths import ROOT

sys.path.append(str(ROOT / "tests" / "collector"))
from js.chromium import PLAN, site
from running import running

pytestmark = needs_node
OLDER = sorted((ROOT / "tests" / "js" / "older").glob("*.js"))


@pytest.mark.parametrize("module", OLDER, ids=lambda path: path.stem)
def test_an_older_client_reports_to_this_collector(module, tmp_path):
    with running(tmp_path / "x.db") as collector:
        plan = collector.collection()
        program = """
            const plan = await (await fetch(`${given.url}/v1/plans/${given.plan}/document`)).text();
            const client = new localdp.Client(plan, { store: localdp.memoryStore(), upload: given.url });
            return client.send("tea");
        """
        done = evaluate(program, {"url": collector.url, "plan": plan.fingerprint}, module)
        assert done["delivered"] == 1
        assert collector.state(plan)["reports"] == 1


def test_this_client_reports_to_a_collector_that_knows_plans_only():
    """The toy collector of examples/web has the routes of the first collectors, and says nothing but a status."""
    with site(PLAN) as server:
        program = """
            const store = localdp.memoryStore();
            const client = await localdp.Client.load(`${given.url}/v1/plans/${given.plan}`, { store });
            return [await client.sendOnce(7), await client.sendOnce(8)];
        """
        done = evaluate(program, {"url": server.url, "plan": PLAN.fingerprint}, JS / "src" / "index.js")
        assert [one["delivered"] for one in done] == [1, 0]
        assert len(server.uploads) == 1
        missing = """
            const loading = localdp.Client.load(`${given.url}/v1/plans/none`, {});
            return loading.catch((error) => `${error.code} ${error.message}`);
        """
        said = evaluate(missing, {"url": server.url}, JS / "src" / "index.js")
        assert said.startswith("no-plan the plan")
        assert "404" in said
