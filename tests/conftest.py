"""Settings and fixtures that all tests share.

Property tests try the same examples on every machine, however slow it is: timing never decides a test.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import pytest
from command import localdp
from hypothesis import settings
from missing_parts import pytest_make_collect_report as pytest_make_collect_report
from missing_parts import pytest_runtest_makereport as pytest_runtest_makereport

settings.register_profile("localdp", deadline=None, derandomize=True)
settings.load_profile("localdp")


@pytest.fixture(scope="session")
def collected(tmp_path_factory):
    """A folder with items, values, a plan, reports and an aggregate, each made by its command."""
    folder = tmp_path_factory.mktemp("collected")
    frequencies = [max(1, 3_000 // rank) for rank in range(1, 201)]
    names = [f"product {rank}" for rank in range(200)]
    (folder / "items.csv").write_text("name\n" + "\n".join(names) + "\n")
    values = [name for name, count in zip(names, frequencies, strict=True) for _ in range(count)]
    (folder / "values.csv").write_text("day,name\n" + "\n".join(f"mon,{value}" for value in values) + "\n")
    steps = (
        ("plan", "items.csv", "--epsilon", "4", "-o", "plan.json"),
        ("privatize", "values.csv", "--plan", "plan.json", "--column", "name", "-o", "reports.parquet"),
        ("privatize", "values.csv", "--plan", "plan.json", "--column", "name", "-o", "reports.csv"),
        ("privatize", "values.csv", "--plan", "plan.json", "--column", "name", "-o", "reports.arrow"),
        ("aggregate", "reports.parquet", "--plan", "plan.json", "-o", "counts.agg"),
        ("plan", "--size", "9", "-o", "other.json"),
    )
    for step in steps:
        done = localdp(*step, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    return folder


def _started(pgserver, folder):
    """A PostgreSQL server; a busy machine may need a second attempt."""
    try:
        return pgserver.get_server(folder / "one")
    except Exception:
        return pgserver.get_server(folder / "two")


@pytest.fixture(scope="session")
def postgres():
    """A function that makes a new database on a PostgreSQL server of this test run, and returns its URL.

    Its files are not among those of pytest: where root runs the tests, PostgreSQL runs as somebody else, and the next
    pytest on the machine closes the folder of all its runs to everybody but root.
    """
    psycopg = pytest.importorskip("psycopg", reason="psycopg, for PostgreSQL, is not installed")
    pgserver = pytest.importorskip("pgserver", reason="pgserver, for PostgreSQL, is not installed")
    folder = Path(tempfile.mkdtemp(prefix="localdp-postgres-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            server = _started(pgserver, folder)
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"PostgreSQL cannot be started here: {error}")
    numbers = itertools.count()
    # The machine does not lose its power during a test, and waiting for the disk takes longer than everything else.
    server.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf();")

    def connected():
        """A connection. A server that has just started may refuse the first ones on a busy machine."""
        for pause in (0.5, 1.0, 2.0, 4.0, 8.0):
            try:
                return psycopg.connect(server.get_uri(), autocommit=True)
            except psycopg.OperationalError:
                time.sleep(pause)
        return psycopg.connect(server.get_uri(), autocommit=True)

    def new_database():
        name = f"collector_{next(numbers)}"
        with connected() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return server.get_uri(database=name)

    yield new_database
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """The URL of a new database, of each kind in turn."""
    return f"sqlite:///{tmp_path}/collector.db" if request.param == "sqlite" else request.getfixturevalue("postgres")()


# Counts what the policy has refused, in every page.
WATCH = """window.refused = [];
addEventListener("securitypolicyviolation", (event) => refused.push(event.violatedDirective));"""


@pytest.fixture(scope="module")
def chromium():
    """A browser for tests of pages. What it needs is imported late: most tests need none."""
    from js.chromium import browser, driver

    with driver() as playwright, browser(playwright) as started:
        yield started


@pytest.fixture
def visit(chromium, collector):
    """A function that opens the dashboard. At the end, no page may have complained or asked another server."""
    from visiting import sign_in

    contexts, pages = [], []

    def open_one(scope="admin", path="/", **options):
        context = chromium.new_context(accept_downloads=True, **options)
        contexts.append(context)
        context.add_init_script(WATCH)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.complaints, page.expected = [], []
        page.on(
            "console", lambda said: page.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.complaints.append(dialog.message), dialog.dismiss()))
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(collector.url + path)
        if scope is not None:
            sign_in(page, collector.tokens[scope])
        pages.append(page)
        return page

    yield open_one
    for page in pages:
        assert page.evaluate("refused") == []
        # Chromium itself reports every answer that is not a success.
        left = [one for one in page.complaints if not any(status in one for status in page.expected)]
        assert left == []
        assert all(url.startswith((collector.url + "/", f"blob:{collector.url}")) for url in page.asked)
        assert not any(token in url for url in page.asked for token in collector.tokens.values())
    for context in contexts:
        context.close()
