"""The tables, in numbered steps. A database remembers the steps it has taken, and takes the others when it is opened.

To change the tables, append a step. A step that was released is never changed: databases have taken it already.
Steps are written once; the words in braces are what the two databases call the same thing.

Days are whole numbers: days since 1 January 1970, UTC. Moments are seconds since then.
"""

from __future__ import annotations

from collections.abc import Callable

from localdp.errors import InvalidInputError

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # `settings` is JSON: what was asked for beside the plan itself (title, question, minimum, dates).
        """CREATE TABLE plans (
            id {serial},
            fingerprint TEXT NOT NULL UNIQUE,
            short TEXT NOT NULL UNIQUE,
            document TEXT NOT NULL,
            settings TEXT NOT NULL,
            created BIGINT NOT NULL,
            closed BIGINT
        )""",
        # A row for each upload. `key` is derived from the plan and the upload id. `body` is empty (NULL) once it was
        # dropped; the row stays, so that the upload is still known when it comes again.
        """CREATE TABLE uploads (
            seq {serial},
            key {bytes} NOT NULL UNIQUE,
            plan BIGINT NOT NULL,
            day BIGINT NOT NULL,
            kind BIGINT NOT NULL,
            count BIGINT NOT NULL,
            folded BIGINT NOT NULL,
            body {bytes}
        )""",
        "CREATE INDEX uploads_waiting ON uploads (plan, seq, count) WHERE folded = 0",
        # The counts are 64-bit integers, little-endian, one for each item. `suspect` is how many of the n reports look
        # forged. `version` grows with every change.
        """CREATE TABLE aggregates (
            plan BIGINT NOT NULL,
            day BIGINT NOT NULL,
            n BIGINT NOT NULL,
            suspect BIGINT NOT NULL,
            version BIGINT NOT NULL,
            counts {bytes} NOT NULL,
            PRIMARY KEY (plan, day)
        )""",
        # What identifies the files behind imported aggregates, so that nobody's reports are counted twice.
        """CREATE TABLE sources (
            plan BIGINT NOT NULL,
            source TEXT NOT NULL,
            PRIMARY KEY (plan, source)
        )""",
        # A token itself is never stored: `digest` is its SHA-256.
        """CREATE TABLE tokens (
            id {serial},
            digest {bytes} NOT NULL UNIQUE,
            name TEXT NOT NULL,
            scope TEXT NOT NULL,
            plan BIGINT,
            created BIGINT NOT NULL,
            revoked BIGINT
        )""",
        "CREATE TABLE probes (id BIGINT PRIMARY KEY, written BIGINT NOT NULL)",
    ),
    (
        # A round of a discovery takes uploads as a plan does, and has a row among the plans, under the fingerprint of
        # the round. `discovery` is None for all other plans.
        "ALTER TABLE plans ADD COLUMN discovery BIGINT",
        # `state` is the state of the discovery as the library saves it; `round` is the number of the round under way,
        # and grows with every change of the state. `done` is when it ended.
        """CREATE TABLE discoveries (
            id {serial},
            fingerprint TEXT NOT NULL UNIQUE,
            short TEXT NOT NULL UNIQUE,
            document TEXT NOT NULL,
            settings TEXT NOT NULL,
            state TEXT NOT NULL,
            round BIGINT NOT NULL,
            created BIGINT NOT NULL,
            done BIGINT
        )""",
        # `reports` and `suspect` are known when a round is over.
        """CREATE TABLE rounds (
            discovery BIGINT NOT NULL,
            number BIGINT NOT NULL,
            plan BIGINT NOT NULL,
            document TEXT NOT NULL,
            needed BIGINT NOT NULL,
            reports BIGINT,
            suspect BIGINT,
            PRIMARY KEY (discovery, number)
        )""",
    ),
)


def migrate(execute: Callable[[str], list[tuple[int]]], **words: str) -> None:
    """Take the steps that the database has not taken, inside a transaction that the caller has begun."""
    execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
    taken = execute("SELECT version FROM schema_version")
    version = taken[0][0] if taken else 0
    if version > len(STEPS):
        raise InvalidInputError(
            f"this database has tables of version {version}, and this localdp knows versions up to {len(STEPS)}: "
            "install a newer localdp"
        )
    if version == len(STEPS):
        return
    for step in STEPS[version:]:
        for statement in step:
            execute(statement.format(**words))
    execute("DELETE FROM schema_version")
    execute(f"INSERT INTO schema_version (version) VALUES ({len(STEPS)})")  # noqa: S608 (a number of ours)
