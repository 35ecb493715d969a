"""`localdp studies`: the studies of a collector, and what can be done with one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from localdp.cli.options import Json, completion
from localdp.cli.remote import HERE, Token, Url, collector_at

ACTIONS = ("list", "trial", "clone", "begin", "correct", "close", "reopen", "archive", "share", "delete")


def command(
    action: Annotated[
        str, typer.Argument(help=f"What to do: {', '.join(ACTIONS)}.", autocompletion=completion(ACTIONS))
    ] = "list",
    study: Annotated[str, typer.Argument(help="The id of a study, or its fingerprint.")] = "",
    url: Url = HERE,
    token: Token = "",
    title: Annotated[str | None, typer.Option(help="The title of a trial or a clone, or the one to correct.")] = None,
    question: Annotated[str | None, typer.Option(help="The question, likewise.")] = None,
    days: Annotated[int, typer.Option(help="For share: the days for which the link is valid.", min=1)] = 30,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before deleting.")] = False,
    json: Json = False,
) -> None:
    """List the studies of a collector, or do something with one.

    trial makes a study that asks the same with keys of its own, so that nothing
    of it gets into the real one; begin opens a draft and deletes its trials.
    correct changes the title and the question. share prints a link with which
    one study can be read. delete is for good, and is for studies that are
    closed, and for trials.

    Example: localdp studies trial c64954ce921042bf
    """
    from localdp.errors import InvalidInputError
    from localdp.reading import one_of

    one_of(action, "the action", ACTIONS)
    if (action == "list") == bool(study):
        raise InvalidInputError(f"{action} needs {'no study' if study else 'the id of a study'}")
    collector = collector_at(url, token)
    path = f"/v1/studies/{_checked(study)}"
    if action == "list":
        _list(collector.ask("GET", "/v1/studies")["studies"], json)
        return
    if action == "share":
        _share(collector, study, days)
        return
    if action == "delete":
        found = collector.ask("GET", path)
        if not yes:
            if not sys.stdin.isatty():
                raise InvalidInputError("nobody can be asked here whether to delete it for good: give --yes")
            name = found["title"] or found["survey"] or found["id"]
            typer.confirm(f"Delete {name} and all its reports for good?", abort=True)
        collector.ask("DELETE", path)
        typer.echo(f"{found['id']}: deleted")
        return
    words = {name: text for name, text in (("title", title), ("question", question)) if text is not None}
    body = {"archived": True} if action == "archive" else words
    if action in ("archive", "correct"):
        found = collector.ask("PATCH", path, body)
    else:
        found = collector.ask("POST", f"{path}/{action}", words if action in ("trial", "clone") else None)
    _list([found], json)


def _share(collector: Any, study: str, days: int) -> None:
    from datetime import UTC, datetime, timedelta

    until = (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"scope": "read", "plan": study, "expires": until, "name": "shared link"}
    made = collector.ask("POST", "/v1/tokens", body)
    typer.echo(f"{collector.url}/#/shared/{made['token']}")
    typer.echo(f"valid until {until}; DELETE /v1/tokens/{made['id']} ends it before", err=True)


def _list(studies: list[dict[str, Any]], as_json: bool) -> None:
    import json

    from localdp.table import printable

    if as_json:
        print(json.dumps(studies))
        return
    for one in studies:
        reports = sum(part["reports"] for part in one["parts"])
        of = f" (trial of {one['trial_of']})" if one["trial_of"] else ""
        name = one["title"] or one["survey"]
        line = f"{one['id']}  {one['state']:8} {one['kind']:14} {reports:>10,} reports  {name}{of}"
        print(printable(line, 300))


def _checked(study: str) -> str:
    from localdp.errors import InvalidInputError

    if study and not study.isalnum():
        raise InvalidInputError(f"a study is named by its id or its fingerprint, not {study!r:.60}")
    return study
