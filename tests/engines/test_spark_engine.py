"""Spark gives the counts of NumPy, also if a Python worker dies, and the page about it does what it says.

Starting Java takes longer than everything else, so all of it is in this file and shares one session.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from paths import DOCS

import localdp as ldp
from localdp.engines import check_engine, spark
from localdp.engines.spark import SparkEngine
from localdp.errors import PlanMismatchError

pytest.importorskip("pyspark", reason="Spark is not installed: pip install '.[spark]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17, and there is no program java"),
]

_CHEAP_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # little is computed, so optimizing it does not pay


@pytest.fixture(scope="module")
def session():
    """A session on two threads of this machine, where a task may fail twice."""
    environment = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--driver-java-options '{_CHEAP_JAVA}' pyspark-shell",
    }
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of pandas 3, and leaves sockets to the collector of garbage
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2,3]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        started = builder.getOrCreate()
        yield started
        gateway = started.sparkContext._gateway
        started.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(30)
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
def warned():
    """Spark's own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("warned")
def test_spark_passes_all_checks(session, tmp_path):
    check_engine(SparkEngine(session), tmp_path)


def _dying_once(rows, marker):
    """A function that yields reports; the first Python worker that is asked for some of them is killed."""

    def read(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if number == 2 and not Path(marker).exists():
                    Path(marker).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                part = rows[number * 500 : (number + 1) * 500]
                yield pa.RecordBatch.from_arrays([pa.array([bytes(row) for row in part])], names=["report"])

    return read


@pytest.mark.usefixtures("warned")
def test_a_killed_worker_does_not_change_the_counts(session, tmp_path):
    plan = ldp.Plan(300, "llh", 2.0)
    reports = plan.privatize(np.arange(2_000) % 300)
    marker = tmp_path / "died"
    rows = session.range(0, 4, 1, 4).mapInArrow(_dying_once(reports.rows, str(marker)), "report binary")
    assert spark.aggregate(rows, plan) == plan.aggregate(reports)
    assert marker.exists()


@pytest.mark.usefixtures("warned")
def test_the_column_remembers_its_plan(session, tmp_path):
    plan, twin = ldp.Plan(9, "oue", 1.0), ldp.Plan(9, "oue", 2.0)
    values = session.createDataFrame([(3,), (4,)], "value int")
    made = spark.privatize(values, plan, out=str(tmp_path / "reports"))
    assert spark.aggregate(made, plan).n == 2
    with pytest.raises(ldp.errors.PlanMismatchError, match="the column 'report' holds reports made under plan"):
        spark.aggregate(made, twin)
    with pytest.raises(ldp.errors.EngineError, match=r"the Spark job failed|already exists"):
        spark.privatize(values, plan, out=str(tmp_path / "reports"))
    with pytest.raises(ldp.errors.InvalidInputError, match="expected a Spark data frame, not Table"):
        spark.aggregate(pa.table({"report": [b"x"]}), plan)


@pytest.mark.usefixtures("warned", "session")
def test_the_page_about_spark_does_what_it_says():
    section = (DOCS / "scale.md").read_text("utf-8").partition("\n## On Spark\n")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert blocks
    names = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "scale.md", "exec"), names)  # noqa: S102 (the page is ours)
    assert names["by_day"]["mon"].n + names["by_day"]["tue"].n == names["aggregate"].n


def test_a_part_of_a_study_goes_through_spark_and_is_told_from_others_with_the_same_plan(session, tmp_path):
    """Estimates are within 6 deviations of the truth, which a right one misses once in 5e8 times."""
    survey = ldp.sets.Survey(["tea", "milk", "bread"], epsilon=4.0, users=4_000, top=2)
    engine, part = SparkEngine(session), survey.round
    frame = engine.frame([pa.table({"value": [["tea", "milk"], [], ["milk"]] * 300})] * 2)
    made = spark.privatize(frame, part, out=str(tmp_path / "out"))
    estimate = spark.aggregate(made, part).estimate()
    assert estimate.n == 1_800
    assert (np.abs(estimate.frequencies[:3] - 600) < 6 * np.sqrt(estimate.variance + 600)).all()
    other = ldp.sets.Survey(["tea", "milk", "bread"], epsilon=4.0, users=4_000, top=1).round
    assert other.plan == part.plan
    with pytest.raises(PlanMismatchError, match="holds reports made under plan"):
        spark.aggregate(made, other)
