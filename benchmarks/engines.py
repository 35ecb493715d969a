"""The engines on real clusters: the same counts, what they cost, and a worker killed in the middle of the work.

`python benchmarks/engines.py` writes 20 million GRR, 2 million OUE (1,024 items) and 20 million LLH (41,270 items)
reports into Parquet files, and counts them on local threads, on Dask (a scheduler and two worker processes) and on
Spark (a standalone master and two workers), all on this machine. `--small` does it with a hundredth of the reports;
`--engines dask` does it on one engine only. It needs 1 GB of disk, Java 17 and the extras dask and spark.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

import localdp as ldp
from localdp import files
from localdp.engines import connect
from localdp.engines.base import Engine
from localdp.engines.file_parts import tasks_of
from localdp.engines.partial import aggregates

CASES = {
    "GRR": ("grr", 1_000, 4.0, 20_000_000),
    "OUE": ("oue", 1_024, 1.0, 2_000_000),
    "LLH": ("llh", 41_270, 1.0, 20_000_000),
}
FILES = 8  # of each case
RUNS = 5
ROUNDS = 24  # how often the files are counted in the job whose worker is killed: so that there is a middle
ALLOWED = {"dask": 2.0, "spark": 4.0}  # times the local engine's warm time


def write(folder: Path, scale: int) -> dict[str, tuple[ldp.Plan, list[Path], ldp.Aggregate]]:
    """Write the files of all cases; return the plan, the paths and the counts by the library itself."""
    written = {}
    for name, (mechanism, size, epsilon, users) in CASES.items():
        plan = ldp.Plan(size, mechanism, epsilon)
        whole, paths = ldp.Aggregate(plan), []
        for number in range(FILES):
            held = np.random.default_rng(number).zipf(1.3, users // scale // FILES) % size
            reports = plan.privatize(held)
            whole.add(reports)
            paths.append(folder / f"{name}-{number}.parquet")
            with files.reports_writer(paths[-1], plan) as append:
                append(reports)
        total = sum(path.stat().st_size for path in paths)
        print(f"{name}: {whole.n:,} reports over {size:,} items in {FILES} files, {total / 1e6:.0f} MB", flush=True)
        written[name] = (plan, paths, whole)
    return written


def seconds(work: Callable[[], object]) -> float:
    """The time that the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def processes(log: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Give the block a function that starts a process; all of them are ended with the block."""
    started: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("ab") as output:

        def start(*command: object) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                list(map(str, command)), stdout=output, stderr=output, env=environment, start_new_session=True
            )
            started.append(process)
            return process

        try:
            yield start
        finally:
            for process in reversed(started):
                kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything that it has started, at once and with -9."""
    for descendant in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(descendant, signal.SIGKILL)
    process.wait()


def descendants(parent: int) -> list[int]:
    """The processes that a process has started, and those that they have started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found += [int(place.parent.name), *descendants(int(place.parent.name))]
    return found


@contextmanager
def dask_cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two worker processes; gives their address and the workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    with processes(folder / "dask.log") as start:
        start(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard")
        options = ("--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", folder)
        workers = [start(sys.executable, "-m", "distributed.cli.dask_worker", address, *options) for _ in range(2)]
        yield address, workers


@contextmanager
def spark_cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A standalone master and two workers; gives their address and the workers."""
    import pyspark

    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with processes(folder / "spark.log") as start:
        master = "org.apache.spark.deploy.master.Master"
        start(spark_class, master, "--host", "127.0.0.1", "--port", port, "--webui-port", free_port())
        worker = (spark_class, "org.apache.spark.deploy.worker.Worker", address, "--host", "127.0.0.1")
        options = ("--cores", 1, "--memory", "1g", "--webui-port")
        yield address, [start(*worker, *options, free_port(), "-d", folder / f"w{place}") for place in range(2)]


def wait_for_workers(engine: Engine, wanted: int = 2) -> None:
    """Wait until all workers are there."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if engine.name == "dask":
            import distributed

            there = len(distributed.get_client().nthreads())
        else:
            there = engine._session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # type: ignore[attr-defined]
        if there >= wanted:
            return
        time.sleep(0.2)
    raise TimeoutError(f"there are not {wanted} workers of {engine.name}")


def start_of_a_job(engine: Engine, folder: Path) -> float:
    """What a job costs before it has counted anything: the best time for eight files of one report each."""
    plan = ldp.Plan(4, "grr", 1.0)
    paths = [folder / f"one-{number}.parquet" for number in range(FILES)]
    for path in paths:
        with files.reports_writer(path, plan, replace=True) as append:
            append(plan.privatize([1]))
    return min(seconds(lambda: engine.count_files(paths, plan)) for _ in range(RUNS))


def measure(engine: Engine, written: dict[str, tuple[ldp.Plan, list[Path], ldp.Aggregate]]) -> dict[str, float]:
    """Count every case, compare the counts, and return the best of several warm times."""
    best = {}
    for name, (plan, paths, whole) in written.items():
        first = seconds(lambda plan=plan, paths=paths: engine.count_files(paths, plan))  # type: ignore[misc]
        found = engine.count_files(paths, plan).aggregate
        assert found == whole, f"{engine.name} counts other reports of {name}"
        best[name] = min(
            seconds(lambda plan=plan, paths=paths: engine.count_files(paths, plan))  # type: ignore[misc]
            for _ in range(RUNS)
        )
        print(f"  {name}: the same counts; first {first:.2f} s, warm {best[name]:.3f} s", flush=True)
    return best


def measure_column(engine: Engine, plan: ldp.Plan, paths: list[Path], whole: ldp.Aggregate) -> None:
    """Count the same reports as the column of a data frame, which the engine itself reads."""
    if engine.name == "dask":
        import dask.dataframe as dd

        frame = dd.read_parquet([str(path) for path in paths])
    else:
        frame = engine._session.read.parquet(*map(str, paths))  # type: ignore[attr-defined]
    assert engine.aggregate(frame, plan) == whole, f"{engine.name} counts other reports in a column"
    taken = min(seconds(lambda: engine.aggregate(frame, plan)) for _ in range(2))
    print(f"  LLH as the column of a data frame: the same counts, {taken:.2f} s", flush=True)


def count_while_killing(
    engine: Engine, plan: ldp.Plan, paths: list[Path], whole: ldp.Aggregate, workers: list[subprocess.Popen[bytes]]
) -> None:
    """Count the files many times in one job, kill a worker in the middle of it, and compare the counts."""
    tasks = tasks_of(paths * ROUNDS, 8, least_bytes=1)
    undisturbed = min(seconds(lambda: engine.count_tasks(plan, tasks, "fail")) for _ in range(2))
    ended = threading.Event()
    killed_in_time = []

    def strike() -> None:
        time.sleep(0.4 * undisturbed)
        killed_in_time.append(not ended.is_set())
        kill(workers[0])

    striker = threading.Thread(target=strike)
    striker.start()
    started = time.perf_counter()
    found = aggregates(plan, engine.count_tasks(plan, tasks, "fail"))[None]
    took = time.perf_counter() - started
    ended.set()
    striker.join()
    assert killed_in_time == [True], "the job ended before the worker was killed"
    assert workers[0].poll() is not None
    assert found.n == ROUNDS * whole.n
    assert np.array_equal(found.counts, ROUNDS * whole.counts), f"{engine.name} counts differently without a worker"
    print(f"  a worker killed with -9 after {0.4 * undisturbed:.1f} s of {undisturbed:.1f} s: the same counts of")
    print(f"  {found.n:,} reports in {len(tasks)} tasks, after {took:.1f} s", flush=True)


def main() -> int:
    """Measure all engines; return 1 if one of them costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a hundredth of the reports")
    parser.add_argument("--engines", nargs="*", default=["dask", "spark"])
    asked = parser.parse_args()
    passed = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        written = write(folder, 100 if asked.small else 1)
        print("local", flush=True)
        with connect("local") as engine:
            local = measure(engine, written)
        for name in asked.engines:
            started = time.perf_counter()
            cluster = dask_cluster(folder) if name == "dask" else spark_cluster(folder)
            with cluster as (address, workers):
                if name == "dask":
                    time.sleep(3)  # the scheduler must be there before a client asks for its workers
                    until = time.monotonic() + 60
                    while time.monotonic() < until:
                        try:
                            with connect(name, address) as engine:
                                wait_for_workers(engine)
                            break
                        except ldp.errors.EngineError:
                            time.sleep(1)
                with connect(name, address) as engine:
                    wait_for_workers(engine)
                    print(f"{name}: started in {time.perf_counter() - started:.1f} s", flush=True)
                    warm = measure(engine, written)
                    start = start_of_a_job(engine, folder) if name == "spark" else 0.0
                    if start:
                        print(f"  a job with no work takes {start:.2f} s, which the ratios leave out as start-up")
                    for case, taken in warm.items():
                        ratio = (taken - start) / local[case]
                        verdict = "" if asked.small or ratio <= ALLOWED[name] else f"  MORE than {ALLOWED[name]:g}"
                        passed &= not verdict
                        print(f"  {case}: {ratio:.2f} times local{verdict}")
                    total = (sum(warm.values()) - 3 * start) / sum(local.values())
                    print(f"  all three: {total:.2f} times local", flush=True)
                    measure_column(engine, *written["LLH"])
                    count_while_killing(engine, *written["LLH"], workers)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
