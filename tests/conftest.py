"""Settings and fixtures that all tests share.

Property tests try the same examples on every machine, however slow it is: timing never decides a test.
"""

from __future__ import annotations

import itertools
import warnings

import pytest
from command import localdp
from hypothesis import settings

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


def _started(pgserver, tmp_path_factory):
    """A PostgreSQL server; a busy machine may need a second attempt."""
    try:
        return pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    except Exception:
        return pgserver.get_server(tmp_path_factory.mktemp("postgres"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A function that makes a new database on a PostgreSQL server of this test run, and returns its URL."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg, for PostgreSQL, is not installed")
    pgserver = pytest.importorskip("pgserver", reason="pgserver, for PostgreSQL, is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            server = _started(pgserver, tmp_path_factory)
        except Exception as error:
            pytest.skip(f"PostgreSQL cannot be started here: {error}")
    numbers = itertools.count()

    def new_database():
        name = f"collector_{next(numbers)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return server.get_uri(database=name)

    yield new_database
    server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """The URL of a new database, of each kind in turn."""
    return f"sqlite:///{tmp_path}/collector.db" if request.param == "sqlite" else request.getfixturevalue("postgres")()
