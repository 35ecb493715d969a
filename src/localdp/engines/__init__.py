"""Count and privatize on one machine, on Dask or on Spark: `local`, `dask` and `spark`, one file for each engine.

Every engine does the same: it gives parts of the reports to `localdp.engines.partial`, which turns them into sums, and
adds up the sums. They are whole numbers, so all engines give the same counts, bit for bit, in whatever order and on
however many machines the parts are counted. No package of a cluster is loaded before its engine is used.

>>> import pyarrow as pa
>>> from localdp import Plan
>>> from localdp.engines import local
>>> plan = Plan(["tea", "coffee"], mechanism="grr", epsilon=1.0)
>>> rows = plan.privatize(["tea", "tea", "coffee"]).rows
>>> table = pa.table({"report": [bytes(row) for row in rows], "day": ["mon", "mon", "tue"]})
>>> {day: aggregate.n for day, aggregate in local.aggregate(table, plan, by="day").items()}
{'mon': 2, 'tue': 1}
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from localdp.errors import InvalidInputError

if TYPE_CHECKING:
    from localdp.engines import dask, local, spark
    from localdp.engines.base import Engine
    from localdp.engines.check import check_engine

__all__ = ["check_engine", "connect", "dask", "local", "spark"]

ENGINES = ("local", "dask", "spark")
"""The names of the engines."""


def connect(name: str, address: str | None = None) -> AbstractContextManager[Engine]:
    """An engine by its name, for the length of a `with` block.

    `address` is the cluster, such as `tcp://10.0.0.1:8786` for Dask or `spark://10.0.0.1:7077` for Spark. Without one,
    the engine runs on this machine.

    >>> with connect("local") as engine:
    ...     engine.name
    'local'
    """
    if name not in ENGINES:
        raise InvalidInputError(f"the engine is {', '.join(ENGINES[:-1])} or {ENGINES[-1]}, not {name!r:.40}")
    found: AbstractContextManager[Engine] = import_module(f"localdp.engines.{name}").connect(address)
    return found


def __getattr__(name: str) -> Any:
    """Import an engine at first use."""
    if name in ENGINES:
        return import_module(f"localdp.engines.{name}")
    if name == "check_engine":
        return import_module("localdp.engines.check").check_engine
    raise AttributeError(f"module 'localdp.engines' has no attribute {name!r}")
