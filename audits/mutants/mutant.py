"""What a mutant is: a fault put in on purpose, with the one check or test that must notice it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localdp.mechanisms import Mechanism


@dataclass(frozen=True)
class ClassMutant:
    """A mechanism with a fault. The public check must refuse it with a message that matches `says`."""

    kind: type[Mechanism]
    check: Callable[[type[Mechanism], int], None]
    says: str

    @property
    def name(self) -> str:
        return self.kind.__name__

    @property
    def fault(self) -> str:
        """The first sentence of the class."""
        return (self.kind.__doc__ or "").partition("\n")[0]

    @property
    def caught_by(self) -> str:
        return self.check.__name__


@dataclass(frozen=True)
class SourceMutant:
    """A change of one place in the library's source: `before`, which occurs once in the file, becomes `after`.

    `caught_by` is a test, as pytest names it, or a public check of a mechanism, as in "check_wire(grr)". The runner
    changes a copy of the library; the test or check must pass on the library itself and fail on the changed copy.
    """

    name: str
    fault: str
    file: str  # below src/localdp
    before: str
    after: str
    caught_by: str

    @property
    def is_test(self) -> bool:
        return self.caught_by.startswith("tests/")


Mutant = ClassMutant | SourceMutant
