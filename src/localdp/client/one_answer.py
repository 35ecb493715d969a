"""The one answer of a device in a study of several parts: made once, kept on the disk, and never made again.

The first report that a device makes is the only one: asked again, by whatever part and for whatever value, the device
gives the same bytes or nothing. So the study spends epsilon once, also if somebody publishes two documents for the
same part. Under the lock of the store, first the report is written to its file, then the payment to the record, and
only then the report is released:

    the file    the record    what a device does that is asked
    no          not paid      makes its report, writes it, pays, releases it
    yes         not paid      (it was stopped between the two) pays, and releases the report in the file
    yes         paid          releases the report in the file
    no, or      paid          nothing: its report may have been released, and a second one would spend epsilon again;
    damaged                   `StoreError`

A store that an old backup has put back knows neither the file nor the payment. So the noise of the report is not drawn
anew but from a keystream, as that of a permanent response is (see `localdp.client.secret`), for the message

    the fingerprint of the part's document (32 bytes), and what is reported (numbers of 8 bytes, little-endian)

and the fingerprint of the study in the place of the plan's. For the same value and document the same report comes out
again; every other value or document has a key of its own, because two answers with the same noise would give both
away.

    offset  bytes  content of the file
    0       32     the fingerprint of the part's document
    32      ..     the batch, as it is sent
    ..      32     the SHA-256 of everything before
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from localdp.client.budget import Budget
from localdp.client.private_files import (
    content,
    make_private,
    names,
    remove_unfinished,
    sealed,
    unsealed,
    write_private,
)
from localdp.client.secret import Secret
from localdp.client.store import Store
from localdp.errors import PlanMismatchError, StoreError
from localdp.randomness.keystream import Keystream

_DIGEST_BYTES = 32
_POSTED = ".posted"
_FOLDERS = ("discoveries", "surveys", "studies")


def posted(answer: Path) -> Path:
    """The file that says that this answer was put into the outbox."""
    return answer.with_name(f"{answer.name}{_POSTED}")


def forget_all(store: Store) -> None:
    """Remove the answers of a device in all its studies. That they were given stays. The caller holds the lock."""
    for folder in map(store.kept, _FOLDERS):
        remove_unfinished(folder, "*")
        for name in names(folder):
            if not name.endswith(_POSTED):
                write_private(posted(folder / name), b"")
                (folder / name).unlink()


class OneAnswer:
    """The answer of one device in the study with this fingerprint. `what` is what errors call it: "discovery"."""

    def __init__(self, store: Store, budget: Budget, fingerprint: str, epsilon: float, what: str, folder: str) -> None:
        self._store, self._budget, self._epsilon, self._what = store, budget, epsilon, what
        self._secret = Secret(store.secret, fingerprint)
        self._digest = self._secret.digest(what.encode())
        self.path: Path = store.kept(folder) / fingerprint[:32]
        """The file that holds the answer once it is made."""

    def to(self, asked: str, reported: Iterable[int], make: Callable[[Keystream], bytes]) -> bytes:
        """The answer to the part whose document has this fingerprint, as it was made or as `make` makes it now.

        `reported` are the numbers that say what is reported. What this spends is on the disk before it returns; a
        `BudgetError` says that the cap is reached.
        """
        if self._known(asked) is None:
            made = make(self._noise(asked, reported))
            self._budget.pay(self._digest, self._epsilon, before=lambda: self._keep(asked, made))
        else:
            self._budget.pay(self._digest, self._epsilon)
        known = self._known(asked)  # once it is paid for: before that, it may be forgotten and another one made
        if known is None:
            raise StoreError(
                f"the store {self._store.folder} has paid for an answer in this {self._what}, and the file of the "
                "answer is gone. A second answer would spend epsilon again, so this device gives none"
            )
        return known

    @property
    def asked(self) -> str | None:
        """The fingerprint of the document that was answered; None if there is no answer."""
        with self._store.explained("read"):
            data = content(self.path)
        return data[:_DIGEST_BYTES].hex() if data and len(data) > 2 * _DIGEST_BYTES else None

    def _noise(self, asked: str, reported: Iterable[int]) -> Keystream:
        """The stream for what is reported, under this document."""
        message = bytes.fromhex(asked) + b"".join(number.to_bytes(8, "little") for number in reported)
        return Keystream(self._secret.key(message))

    def _keep(self, asked: str, made: bytes) -> None:
        """Write the report to its file, unless another process has been there. The caller holds the store's lock."""
        if content(self.path) is None:
            make_private(self.path.parent)
            write_private(self.path, sealed(bytes.fromhex(asked) + made))

    def _known(self, asked: str) -> bytes | None:
        """The report that this device has made in this study, if there is one."""
        with self._store.explained("read"):
            data = content(self.path)
        if data is None:
            return None
        inside = unsealed(data)
        if inside is None or len(inside) <= _DIGEST_BYTES:
            raise StoreError(
                f"the answer of this device in {self.path} is damaged. A second answer would spend epsilon again, so "
                "this device gives none"
            )
        if inside[:_DIGEST_BYTES].hex() != asked:
            raise PlanMismatchError(f"this device has answered another document of this {self._what}, and answers once")
        return inside[_DIGEST_BYTES:]
