"""The list of all mutants: faults put in on purpose, each caught by a check or test that is named here.

`make audit` fails if one of them survives, and docs/results/mutants.md shows the list.
"""

from __future__ import annotations

from audits.mutants import analysis, by_place, ordered, published, source, subtle
from audits.mutants.mutant import ClassMutant, Mutant, SourceMutant
from localdp.checks.independence import check_value_independence
from localdp.checks.privacy import check_exact_privacy, check_stated_privacy
from localdp.checks.sampling import check_large_domains, check_samples_match_channel
from localdp.checks.users import check_every_user

PUBLISHED = (
    ClassMutant(
        published.UnclearedBit,
        check_exact_privacy,
        "made for epsilon 0.5, and over all random inputs at 6 bits its reports have epsilon 1.26",
    ),
    ClassMutant(
        published.SwappedProbabilities,
        check_exact_privacy,
        r"sends report 0x1 for value 0 with probability 387/2048 .*; its channel\(\) states 637/2048",
    ),
    ClassMutant(
        published.ModuloBias,
        check_exact_privacy,
        "made for epsilon 0.5, and over all random inputs at 9 bits its reports have epsilon 0.5013",
    ),
)

SUBTLE = (
    ClassMutant(
        subtle.RejectedDrawsAreBiased,
        check_exact_privacy,
        "after a rejected draw is drawn again, the reports for value 0 have other probabilities",
    ),
    ClassMutant(
        subtle.SecondWordNotCleared,
        check_large_domains,
        r"of 20000 reports of value 64 support item 64; expected about 10000, since p\* is 0.5",
    ),
    ClassMutant(
        subtle.LateRoundsDrawTooFew,
        check_samples_match_channel,
        r"do not follow its channel\(\): chi-square is .* expected at most",
    ),
    ClassMutant(
        subtle.ThresholdTooHighAtFullWidth,
        check_stated_privacy,
        r"states epsilon 0.00100000000000\d+; expected at most 0.001: round thresholds toward",
    ),
    ClassMutant(
        subtle.SeedTellsTheValue,
        check_large_domains,
        r"of 20000 reports of value 7 support item 7; expected about .*, since p\* is",
    ),
    ClassMutant(
        subtle.ExtraDrawForLateValues,
        check_value_independence,
        "draws 1000 random words for value 8 and 1001 random words for value 63",
    ),
    ClassMutant(
        subtle.PathInAHelper,
        check_value_independence,
        r"executes .*subtle.py:\d+ for value 0 and .*subtle.py:\d+ for value 1",
    ),
    ClassMutant(
        subtle.HonestOnSmallDomainsOnly,
        check_samples_match_channel,
        r"on 9 items.* do not follow its channel\(\)",
    ),
    ClassMutant(
        subtle.NoiseRepeats,
        check_value_independence,
        "returned the same 500 reports twice with secure randomness",
    ),
    ClassMutant(
        subtle.WrongQ,
        check_exact_privacy,
        "the reports of value 1 support item 0 with probability 387/1024 .*; q states 387387/1024000",
    ),
)

ORDERED = (
    ClassMutant(ordered.BandTooNarrow, check_exact_privacy, "made for epsilon 0.5, .* its reports have epsilon 0.67"),
    ClassMutant(ordered.EndsReflected, check_exact_privacy, "states epsilon 0.497.*its reports have epsilon 0.218"),
    ClassMutant(ordered.ThresholdTooLarge, check_stated_privacy, "states epsilon 0.0011.*; expected at most 0.001"),
    ClassMutant(ordered.OneOutputApart, check_exact_privacy, "never sends the report 0x5 for value 2, but does"),
)

BY_PLACE = (
    ClassMutant(
        by_place.TruthWhenAlone,
        check_every_user,
        "120 of 120 reports of user 1 in batches of 1 support their own item; expected about 54",
    ),
    ClassMutant(
        by_place.TruthForTheLast,
        check_every_user,
        "120 of 120 reports of user 1 in batches of 1 support their own item; expected about 54",
    ),
    ClassMutant(
        by_place.NeighboursValue,
        check_every_user,
        "reports of users at even places in batches of .* support their own item; expected about",
    ),
    ClassMutant(
        by_place.TruthPastEpsilonFour,
        check_large_domains,
        r"on 16 items, epsilon 8, .*: 20000 of 20000 reports of value 0 support item 0; expected about 19900",
    ),
)

_CLASSES = (*PUBLISHED, *SUBTLE, *ORDERED, *BY_PLACE)

MUTANTS: tuple[Mutant, ...] = (*_CLASSES, *source.REVIEWED, *source.RELATIVES, *analysis.UNNOTICED, *analysis.RESULTS)

__all__ = ["MUTANTS", "ClassMutant", "Mutant", "SourceMutant"]
