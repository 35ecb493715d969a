"""Sets: which items, and which itemsets, the most users hold, if every user holds several items or none.

sizes       how large the sets are, and the set size that follows from it
candidates  the itemsets that are counted, and which of them a user holds
rounds      what one group of users is asked
protocol    the rounds one after the other, each leading to the next
saved       a survey on the disk
device      one user: a group, and one report
found       the result
run         a whole survey on sets at hand
check       what a user tells, by running every random input
"""

from localdp.sets.check import check_survey
from localdp.sets.found import FoundSets
from localdp.sets.protocol import Survey
from localdp.sets.run import itemsets, survey

__all__ = ["FoundSets", "Survey", "check_survey", "itemsets", "survey"]
