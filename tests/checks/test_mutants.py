"""The list of mutants: each is caught by what the list names, is up to date, and is in the documentation."""

from __future__ import annotations

import dataclasses
import re

import pytest
from paths import DOCS, ROOT

from audits.mutants import (
    BY_PLACE,
    MUTANTS,
    ORDERED,
    PUBLISHED,
    SUBTLE,
    ClassMutant,
    SourceMutant,
    page,
    runner,
    source,
)
from localdp.checks import MECHANISM_CHECKS, CheckFailure
from localdp.checks.privacy import check_exact_privacy
from localdp.mechanisms import MECHANISMS, RandomizedResponse

CLASSES = [mutant for mutant in MUTANTS if isinstance(mutant, ClassMutant)]
SOURCES = [mutant for mutant in MUTANTS if isinstance(mutant, SourceMutant)]
PACKAGE = ROOT / "src" / "localdp"
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


def _name(mutant):
    return mutant.name


@pytest.mark.parametrize("mutant", CLASSES, ids=_name)
def test_the_named_check_catches_the_class(mutant):
    with pytest.raises(CheckFailure, match=mutant.says) as failure:
        mutant.check(mutant.kind, 0)
    assert mutant.kind.name in str(failure.value)
    assert mutant.check in MECHANISM_CHECKS


@pytest.mark.parametrize("mutant", PUBLISHED, ids=_name)
def test_enumeration_alone_catches_every_published_bug(mutant):
    assert mutant.check is check_exact_privacy


def test_the_list_has_every_mutant_once():
    assert len(BY_NAME) == len(MUTANTS)
    assert [len(part) for part in (PUBLISHED, SUBTLE, ORDERED, BY_PLACE, source.REVIEWED)] == [3, 10, 4, 4, 10]
    assert len(source.RELATIVES) >= 10
    assert len(CLASSES) + len(SOURCES) == len(MUTANTS)


@pytest.mark.parametrize("mutant", SOURCES, ids=_name)
def test_the_change_fits_the_source_and_what_catches_it_exists(mutant):
    compile(runner.changed(mutant, PACKAGE), mutant.file, "exec")
    if mutant.is_test:
        file, _, test = mutant.caught_by.partition("::")
        assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8")
    else:
        check, mechanism = re.fullmatch(r"(\w+)\((\w+)\)", mutant.caught_by).groups()
        assert check in {known.__name__ for known in MECHANISM_CHECKS}
        assert mechanism in MECHANISMS


@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_the_mutant_is_in_the_documentation(mutant):
    text = (DOCS / "results" / "mutants.md").read_text("utf-8")
    assert re.search(re.escape(page.row(mutant)) + r" \d+\.\d \|\n", text), "run audits/run.py --mutants --markdown"


@pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=lambda check: check.__name__)
def test_the_check_is_in_the_documentation(check):
    assert f"- **`{check.__name__}`** " in (DOCS / "checks.md").read_text("utf-8")


@pytest.mark.slow
def test_a_change_of_the_source_is_caught_by_its_check_and_by_its_test():
    outcomes = list(runner.run([BY_NAME["truth rounded up"], BY_NAME["streams can be copied"]]))
    assert [outcome.caught for outcome in outcomes] == [True, True]
    assert "expected at most 0.001: round thresholds toward more noise" in outcomes[0].message
    assert "DID NOT RAISE" in outcomes[1].message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truth rounded up", "streams can be copied"])
def test_a_change_without_a_fault_survives(name):
    harmless = dataclasses.replace(BY_NAME[name], after=BY_NAME[name].before + "  # the same")
    (outcome,) = runner.run([harmless])
    assert not outcome.caught


def test_a_class_without_a_fault_survives():
    (outcome,) = runner.run([ClassMutant(RandomizedResponse, check_exact_privacy, "leaks")])
    assert not outcome.caught


def test_another_message_than_the_one_in_the_list_does_not_count():
    (outcome,) = runner.run([dataclasses.replace(PUBLISHED[0], says="something else")])
    assert not outcome.caught


@pytest.mark.parametrize(("before", "times"), [("no such text", 0), ("import", 9)])
def test_a_list_that_is_out_of_date_is_an_error(before, times):
    stale = dataclasses.replace(SOURCES[0], before=before)
    with pytest.raises(runner.OutOfDateError, match=rf"'short key': expected '{before}' once .* bring the list of"):
        runner.changed(stale, PACKAGE)
    assert ((PACKAGE / stale.file).read_text("utf-8").count(before) == 0) == (times == 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "after"), [("truth rounded up", "return no_such_name"), ("streams can be copied", "return no_such_name")]
)
def test_a_change_that_only_breaks_the_code_is_an_error_and_no_catch(name, after):
    broken = dataclasses.replace(BY_NAME[name], after=after)
    with pytest.raises(runner.OutOfDateError, match=rf"{name}.* could not be run:(.|\n)*no_such_name"):
        list(runner.run([broken]))


@pytest.mark.slow
def test_what_catches_a_mutant_must_pass_on_the_library_itself():
    failing = dataclasses.replace(BY_NAME["truth rounded up"], caught_by="check_no_such_thing(grr)")
    with pytest.raises(runner.OutOfDateError, match="must pass on the library as it is"):
        list(runner.run([failing]))


def test_the_page_is_written_in_place_of_the_old_list(tmp_path):
    before = (DOCS / "results" / "mutants.md").read_text("utf-8")
    (tmp_path / "mutants.md").write_text(before, "utf-8")
    outcomes = [runner.Outcome(mutant, True, 1.25, "") for mutant in MUTANTS]
    page.write(outcomes, tmp_path / "mutants.md")
    once = (tmp_path / "mutants.md").read_text("utf-8")
    page.write(outcomes, tmp_path / "mutants.md")
    assert (tmp_path / "mutants.md").read_text("utf-8") == once
    assert once.count("| mutant | the fault |") == 1
    assert f"All {len(MUTANTS)} are caught, in {round(1.25 * len(MUTANTS))} seconds" in once
    for end, part in (("<!-- The list", 0), ("<!-- End", 2)):
        assert once.partition(end)[part] == before.partition(end)[part]  # the rest of the page stays
