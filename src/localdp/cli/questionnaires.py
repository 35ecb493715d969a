"""What `plan`, `privatize`, `aggregate` and `estimate` do for a questionnaire: a table with a column for each question.

Its reports are in one file, a binary batch for each part, one after the other.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localdp.questionnaires import Questionnaire
    from localdp.table import Table

REPORTS = ".ldp"
"""The extension of a file with the reports of a questionnaire."""
NEARLY_ALL = 0.9
"""If more than this share of the values is not listed, somebody has probably made a mistake."""
FEW = 20
"""With fewer values nothing is said of the catch-all, because it would tell what a single person holds."""


def write_form(described: Path, out: Path, force: bool) -> None:
    """Write the form of the questionnaire that a file describes."""
    from localdp.cli.output import WIDTH, is_standard, say, shown, write_text
    from localdp.formats.atomic_write import check_writable

    if not is_standard(out):
        check_writable(out, replace=force)
    survey = _described(described)
    write_text(survey.to_json(), out, replace=force)
    say(
        f"{shown(out)}: {len(survey.questions)} questions, {len(survey.parts())} parts, epsilon {survey.epsilon:g}", out
    )
    for line in survey.why.splitlines():
        say(fill(line, WIDTH), out)
    say(f"fingerprint {survey.fingerprint}", out)


def _described(path: Path) -> Questionnaire:
    from localdp.errors import DataFileError
    from localdp.questionnaires.description import described

    try:
        text = path.read_text("utf-8-sig")
        given: Any = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFileError(f"{path} is neither JSON nor, with the extension .toml, TOML: {error}") from None
    return described(given)


def form_in(path: Path) -> Questionnaire | None:
    """The questionnaire whose form is in a file; None if it holds something else, such as a plan."""
    from localdp.questionnaires import Questionnaire

    text = path.read_bytes()
    if f'"{Questionnaire.format()}"'.encode() not in text:
        return None
    return Questionnaire.from_json(text)


def privatize(values: Path, survey: Questionnaire, out: Path, header: bool | None, force: bool) -> None:
    """Make a private report of every row of a table."""
    import typer

    from localdp import files
    from localdp.cli.output import check_inputs, note
    from localdp.formats.atomic_write import atomic_write, check_writable

    _check_extension(out)
    check_inputs(values)
    check_writable(out, replace=force)
    table = {
        name: [_typed(question, value) for value in files.column_values(values, name, header=header)]
        for name, question in survey.questions.items()
    }
    reports = survey.privatize(table)
    with atomic_write(out, replace=force) as unfinished:
        unfinished.write_bytes(reports.to_bytes())
    typer.echo(f"{out}: {len(reports):,} reports in {len(reports.by_part)} parts, epsilon {survey.epsilon:g}")
    for name, question in survey.form.items():
        answers = [answer for answer in table[name] if answer is not None]
        cells = question.cells
        if question.layout != "sets" and answers:
            unlisted = int((question.read(answers).one_each() == cells.other_index).sum())
            if too_many(unlisted, len(answers)):
                note(
                    f"WARNING: nearly all values of {name!r:.60} count as {cells.other!r:.40}, because the "
                    "questionnaire does not list them. Compare the spelling, also capital letters."
                )


def too_many(unlisted: int, values: int) -> bool:
    """Whether so many values are not listed that the column, the plan or the spelling is probably wrong."""
    return values >= FEW and unlisted > NEARLY_ALL * values


def _typed(question: Any, value: Any) -> Any:
    """An answer in a file; an empty cell is no answer."""
    if not isinstance(value, str):
        return value
    return question.typed(value) if value.strip() else None


def aggregate(reports: list[Path], survey: Questionnaire, out: Path, repeated: bool, force: bool) -> None:
    import typer

    from localdp.cli.output import note
    from localdp.errors import InvalidInputError, PlanMismatchError
    from localdp.formats.atomic_write import check_writable
    from localdp.questionnaires import QuestionnaireAggregate

    check_writable(out, replace=force)
    total, seen = QuestionnaireAggregate(survey), set[bytes]()
    for path in reports:
        data = path.read_bytes()
        if data in seen and not repeated:
            raise InvalidInputError(f"{path} has the same reports as another file, and the same people count once")
        seen.add(data)
        try:
            if path.suffix.lower() == ".agg":
                total.merge(QuestionnaireAggregate.from_bytes(data, name=str(path)))
            else:
                _check_extension(path)
                total.add(survey.read(data))
        except PlanMismatchError:
            raise PlanMismatchError(f"{path} holds reports of another questionnaire than --plan") from None
    total.save(out)
    if len(reports) > 1 and any(path.suffix.lower() == ".agg" for path in reports):
        note(
            "A saved aggregate of a questionnaire does not know which files it holds: name no reports that are in it "
            "already, or the same people count twice."
        )
    typer.echo(f"{out}: {total.n:,} reports in {len(survey.parts())} parts")


def tables_in(path: Path, wanted: str | None) -> tuple[Table, tuple[str, ...]] | None:
    """A table of the questionnaire whose aggregate is in a file, and notes; None if it holds something else.

    Without a name it is the table of all questions.
    """
    from localdp.errors import InvalidInputError
    from localdp.formats import aggregate_file
    from localdp.questionnaires import QuestionnaireAggregate

    data = aggregate_file.read(path)
    header = aggregate_file.unpack(data, str(path))[0]
    if not isinstance(header, dict) or "questionnaire" not in header:
        if wanted is not None:
            raise InvalidInputError("--table is for questionnaires, and this aggregate is of a plan: leave it out")
        return None
    result = QuestionnaireAggregate.from_bytes(data, name=str(path)).calibrate()
    if wanted is None:
        survey = result.survey
        apart = [name for name, one in survey.questions.items() if survey.form[name].cells.size > one.cells.size]
        silent = f"what is missing to 100% gave no answer: `--table {apart[0]}` shows how many" if apart else ""
        return result.table(), (*result.notes, *filter(None, [silent]))
    tables = result.tables()
    turned = ",".join(reversed(wanted.split(",")))
    wanted = turned if turned in tables else wanted
    if wanted not in tables:
        raise InvalidInputError(f"--table is one of {'; '.join(tables)}, not {wanted!r:.60}")
    return tables[wanted], result.notes


def _check_extension(path: Path) -> None:
    from localdp.errors import InvalidInputError

    if path.suffix.lower() != REPORTS:
        raise InvalidInputError(f"the reports of a questionnaire are in a {REPORTS} file, not in {path}")
