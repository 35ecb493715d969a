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
    (
        # A collection holds a study: its kind (`plan`, `discovery`, ..), its `form` as the library saves it, and its
        # `state`, which `step` counts the changes of. `name` is the id by which people know the collection, whatever
        # the fingerprint of its plan. The form of a plan is empty: the only part of the study, whose key is empty
        # too, has the plan.
        "ALTER TABLE plans RENAME TO collections",
        "ALTER TABLE collections RENAME COLUMN document TO form",
        "ALTER TABLE collections ADD COLUMN name TEXT",
        "ALTER TABLE collections ADD COLUMN kind TEXT NOT NULL DEFAULT 'plan'",
        "ALTER TABLE collections ADD COLUMN state TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE collections ADD COLUMN step BIGINT NOT NULL DEFAULT 0",
        # A part is what takes uploads: a plan with its key in the study. Uploads are known by its `fingerprint`, which
        # is the plan's, or for a round of a discovery the round's. `document` is what devices fetch, if that is not
        # the plan. It is open until it is `closed`. `reports` and `suspect` are noted when a study has gone past it.
        """CREATE TABLE parts (
            collection BIGINT NOT NULL,
            key TEXT NOT NULL,
            number BIGINT NOT NULL,
            fingerprint TEXT NOT NULL UNIQUE,
            short TEXT NOT NULL UNIQUE,
            plan TEXT NOT NULL,
            document TEXT NOT NULL,
            opened BIGINT NOT NULL,
            closed BIGINT,
            needed BIGINT NOT NULL,
            reports BIGINT,
            suspect BIGINT,
            PRIMARY KEY (collection, key)
        )""",
        """INSERT INTO parts (collection, key, number, fingerprint, short, plan, document, opened, closed, needed)
            SELECT id, '', 0, fingerprint, short, form, '', created, closed, 0
            FROM collections WHERE discovery IS NULL""",
        "UPDATE collections SET form = '' WHERE discovery IS NULL",
        """INSERT INTO collections (fingerprint, short, form, settings, created, closed, kind, state, step)
            SELECT fingerprint, short, document, settings, created, done, 'discovery', state, round
            FROM discoveries ORDER BY id""",
        """INSERT INTO parts (collection, key, number, fingerprint, short, plan, document, opened, closed, needed,
                reports, suspect)
            SELECT study.id, CAST(rounds.number AS TEXT), rounds.number, asked.fingerprint, asked.short, asked.form,
                rounds.document, asked.created, asked.closed, rounds.needed, rounds.reports, rounds.suspect
            FROM rounds
            JOIN collections AS asked ON asked.id = rounds.plan
            JOIN discoveries ON discoveries.id = rounds.discovery
            JOIN collections AS study ON study.fingerprint = discoveries.fingerprint AND study.kind = 'discovery'""",
        # `segment` is a label that devices send in the clear. `verdict` is how many reports of a counted upload look
        # forged, and `standing` whether it is among the counts (0), set aside as suspect (1), or taken back by an
        # administrator (2).
        "ALTER TABLE uploads RENAME COLUMN plan TO collection",
        "ALTER TABLE uploads ADD COLUMN part TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE uploads ADD COLUMN segment TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE uploads ADD COLUMN verdict BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE uploads ADD COLUMN standing BIGINT NOT NULL DEFAULT 0",
        """UPDATE uploads SET
                part = (SELECT parts.key FROM parts JOIN collections ON collections.fingerprint = parts.fingerprint
                        WHERE collections.id = uploads.collection AND collections.discovery IS NOT NULL),
                collection = (SELECT parts.collection FROM parts
                        JOIN collections ON collections.fingerprint = parts.fingerprint
                        WHERE collections.id = uploads.collection AND collections.discovery IS NOT NULL)
            WHERE collection IN (SELECT id FROM collections WHERE discovery IS NOT NULL)""",
        "DROP INDEX uploads_waiting",
        "CREATE INDEX uploads_waiting ON uploads (collection, part, seq, count) WHERE folded = 0",
        # What retention looks for. An upload enters when it is counted, and leaves when its body is dropped.
        "CREATE INDEX uploads_kept ON uploads (day, seq) WHERE folded = 1 AND body IS NOT NULL",
        # Where administrators look for what is suspect, or was taken back.
        "CREATE INDEX uploads_aside ON uploads (collection, seq) WHERE standing > 0 OR verdict > 0",
        "DELETE FROM collections WHERE discovery IS NOT NULL",
        "ALTER TABLE collections DROP COLUMN discovery",
        "DROP TABLE rounds",
        "DROP TABLE discoveries",
        "UPDATE collections SET name = {name}",
        "CREATE UNIQUE INDEX collections_name ON collections (name)",
        # Counts by collection, part, segment, day and standing. What readers have not seen yet (`released` 0) is kept
        # apart from what they have. `changes` is how many reports were added or removed since the last release.
        # Days of one `block` are released together; it is the first of these days.
        """CREATE TABLE tallies (
            collection BIGINT NOT NULL,
            part TEXT NOT NULL,
            segment TEXT NOT NULL,
            day BIGINT NOT NULL,
            standing BIGINT NOT NULL,
            released BIGINT NOT NULL,
            block BIGINT,
            n BIGINT NOT NULL,
            suspect BIGINT NOT NULL,
            changes BIGINT NOT NULL,
            version BIGINT NOT NULL,
            counts {bytes} NOT NULL,
            PRIMARY KEY (collection, part, segment, day, standing, released)
        )""",
        """INSERT INTO tallies
            SELECT plan, '', '', day, 0, 0, NULL, n, suspect, n, version, counts FROM aggregates""",
        "DROP TABLE aggregates",
        "ALTER TABLE tallies RENAME TO aggregates",
        "ALTER TABLE sources RENAME COLUMN plan TO collection",
        "ALTER TABLE tokens RENAME COLUMN plan TO collection",
        # The bytes of uploads, for quotas: all that came on a day (`taken`), and those whose bodies are still there
        # (`kept`). Collectors that share a database write to different slots, so that they need not wait.
        """CREATE TABLE usage (
            collection BIGINT NOT NULL,
            day BIGINT NOT NULL,
            slot BIGINT NOT NULL,
            taken BIGINT NOT NULL,
            kept BIGINT NOT NULL,
            PRIMARY KEY (collection, day, slot)
        )""",
        """INSERT INTO usage
            SELECT collection, day, 0, COALESCE(SUM(LENGTH(body)), 0), COALESCE(SUM(LENGTH(body)), 0)
            FROM uploads GROUP BY collection, day""",
    ),
    (
        # What administrators did. `collection` is the id for people, or empty, so that it still means something when
        # the collection is gone.
        """CREATE TABLE trail (
            seq {serial},
            moment BIGINT NOT NULL,
            token BIGINT NOT NULL,
            who TEXT NOT NULL,
            what TEXT NOT NULL,
            collection TEXT NOT NULL,
            detail TEXT NOT NULL
        )""",
        "CREATE INDEX trail_of ON trail (collection, seq)",
    ),
    (
        # What people read of a collection (title, question, labels, in JSON), `until` it was corrected; and how many
        # reports of a day came from devices that say they showed which version.
        """CREATE TABLE wordings (
            collection BIGINT NOT NULL,
            version BIGINT NOT NULL,
            until BIGINT NOT NULL,
            words TEXT NOT NULL,
            PRIMARY KEY (collection, version)
        )""",
        """CREATE TABLE shown (
            collection BIGINT NOT NULL,
            part TEXT NOT NULL,
            day BIGINT NOT NULL,
            version BIGINT NOT NULL,
            reports BIGINT NOT NULL,
            PRIMARY KEY (collection, part, day, version)
        )""",
        # From `expires` on, a token is not valid; `used` is about when it was used last.
        "ALTER TABLE tokens ADD COLUMN expires BIGINT",
        "ALTER TABLE tokens ADD COLUMN used BIGINT",
        # The latest estimates of every study, as readers may see them, for those who read by SQL.
        """CREATE TABLE publications (
            collection BIGINT PRIMARY KEY,
            moment TEXT NOT NULL,
            n BIGINT NOT NULL,
            title TEXT NOT NULL,
            question TEXT NOT NULL,
            survey TEXT NOT NULL,
            notes TEXT NOT NULL,
            digest TEXT NOT NULL,
            week BIGINT NOT NULL
        )""",
        """CREATE TABLE published (
            collection BIGINT NOT NULL,
            place BIGINT NOT NULL,
            part TEXT NOT NULL,
            item TEXT NOT NULL,
            frequency DOUBLE PRECISION,
            low DOUBLE PRECISION,
            high DOUBLE PRECISION,
            share DOUBLE PRECISION,
            share_low DOUBLE PRECISION,
            share_high DOUBLE PRECISION,
            PRIMARY KEY (collection, place)
        )""",
        """CREATE TABLE happened (
            seq {serial},
            collection BIGINT NOT NULL,
            moment BIGINT NOT NULL,
            kind TEXT NOT NULL,
            sentence TEXT NOT NULL
        )""",
        """CREATE VIEW latest_estimates AS
            SELECT collections.name AS study, survey, title, question, part, item, frequency, low, high, share,
                share_low, share_high, n AS reports, moment AS released, notes
            FROM published
            JOIN publications ON publications.collection = published.collection
            JOIN collections ON collections.id = published.collection""",
        """CREATE VIEW events AS
            SELECT happened.seq AS id, collections.name AS study, moment, happened.kind, sentence
            FROM happened JOIN collections ON collections.id = happened.collection""",
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
