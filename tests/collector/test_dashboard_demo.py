"""`localdp serve --demo`: one command, and there is something to look at, which moves."""

from __future__ import annotations

import time
from datetime import date, timedelta

import numpy as np
import pytest
from command import localdp
from test_serve_command import served

from localdp.collector import demo
from localdp.collector.answers.fitted import merged
from localdp.collector.answers.history import answer_history
from localdp.collector.answers.queries import HistoryQuery
from localdp.collector.answers.released import Blocks
from localdp.collector.service import Service
from localdp.collector.settings import Settings
from localdp.collector.storage import aggregates
from localdp.plan import Aggregate

TOKEN = "a-token-for-the-demo-0123456789abcdef"  # noqa: S105


def test_the_demo_has_a_past_and_goes_on(tmp_path):
    with served(tmp_path, "--demo", LOCALDP_ADMIN_TOKEN=TOKEN) as (client, lines, process):
        assert lines[0].startswith("making three weeks")
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        deadline = time.monotonic() + 180

        def plan():
            try:
                return client.get("/v1/plans").json()["plans"][0]
            except OSError:  # it does not listen yet
                return {"reports": 0}

        first = plan()
        while first["reports"] == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
            first = plan()
        assert first["title"] == "Supermarket demo"
        assert first["reports"] > 100_000
        while plan()["reports"] == first["reports"]:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        process.terminate()
        process.wait(30)
        assert "Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_the_demo_keeps_away_from_real_data(tmp_path):
    done = localdp("serve", "--demo", "--db", "mine.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "leave out --db" in done.stderr


def test_the_estimates_of_the_demo_are_near_the_truth(tmp_path):
    service = Service(Settings(database=str(tmp_path / "x.db")))
    collection = demo.Demo(service, "http://127.0.0.1:1").fill()
    assert demo.Demo(service, "http://127.0.0.1:1").fill() == collection  # a second start adds nothing
    with service.database.reading() as session:
        days = aggregates.days(session, collection.where)
        n, counts = aggregates.merged(session, collection.where, days, demo.PRODUCTS)
    assert len(days) == demo.PAST_DAYS
    estimate = Aggregate(collection.plan, counts, n).estimate()
    truth = n * np.mean([demo.popularity(day / demo.PAST_DAYS) for day in range(demo.PAST_DAYS)], axis=0)
    # The largest days count more than the mean has it, which moves a product by some percent of itself at most.
    assert np.all(np.abs(estimate.frequencies - truth) < 6.5 * estimate.std_error + 0.1 * truth)
    service.database.close()


def test_the_lines_of_the_history_agree_with_the_table():
    """The mean of each line over all shoppers is the number in the table, and no stable product seems to fade."""
    plan, rng = demo.demo_plan(), np.random.default_rng(1)
    first = date(2026, 11, 1)
    days = {}
    for day in range(demo.PAST_DAYS):
        held = rng.multinomial(demo.USERS_A_DAY, demo.popularity(day / demo.PAST_DAYS))
        days[first + timedelta(days=day)] = plan.simulate(held, seed=day)
    blocks = Blocks(
        tuple((day,) for day in days), lambda block: days[block[0]], {day: one.n for day, one in days.items()}
    )
    lines = answer_history(plan, blocks, HistoryQuery(), demo.TERMS.minimum).content()
    table = merged(plan, days.values()).estimate().calibrate()
    overall = dict(zip(plan.domain.items, table.shares.tolist(), strict=True))
    moving = {plan.domain.items[place] for place in demo._TRENDS}
    for line in lines["series"]:
        shares = np.array(line["frequency"]) / demo.USERS_A_DAY
        assert shares.mean() == pytest.approx(overall[line["item"]], rel=0.01)
        if line["item"] not in moving:
            assert np.abs(shares / overall[line["item"]] - 1).max() < 0.25
