"""Sets: which items, and which itemsets, the most users hold, if every user holds several items or none.

sizes       how large the sets are, and the set size that follows from it
candidates  the itemsets that are counted, and which of them a user holds
questions   what is asked, and how sets are read into cells
rounds      what one group of users is asked
protocol    the rounds one after the other, each leading to the next
state       what the rounds have found so far
found       the result
run         a whole survey on sets at hand
check       what a user tells, by running every random input
device      one user, by an older name of `localdp.Client`

What it has in common with other studies is in `localdp.studies`.
"""

from localdp.sets.check import check_survey
from localdp.sets.device import SurveyClient
from localdp.sets.found import FoundSets
from localdp.sets.protocol import Survey
from localdp.sets.run import itemsets, survey

__all__ = ["FoundSets", "Survey", "SurveyClient", "check_survey", "itemsets", "survey"]
