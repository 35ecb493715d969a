"""The options that say how items belong together: --ordered, --crossed and --like."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from localdp.errors import InvalidInputError

if TYPE_CHECKING:
    from localdp.structures import Structure


def chosen_structure(ordered: bool, crossed: str | None, like: Path | None) -> Structure | None:
    """The structure that these options describe; None if none was given."""
    if ordered + (crossed is not None) + (like is not None) > 1:
        raise InvalidInputError("give one of --ordered, --crossed and --like: items have one structure")
    if ordered:
        from localdp.structures import Ordered

        return Ordered()
    if crossed is not None:
        from localdp.structures import Crossed

        if not re.fullmatch(r"[0-9]{1,7}(x[0-9]{1,7}){1,2}", crossed):
            raise InvalidInputError(f"--crossed is the size of a table, such as 5x8 or 5x8x3, not {crossed!r:.40}")
        return Crossed(tuple(int(size) for size in crossed.split("x")))
    if like is not None:
        from localdp.plan import Aggregate
        from localdp.structures import Like

        return Like(Aggregate.load(like).estimate())
    return None
