"""Questionnaires: several questions, of which every device answers one, or two that are crossed, and pays once.

asked                  the question of a part: which cell a person's form is read into
columns                everybody's answers as a table with a column for each question
design                 which parts there are, and how many people each of them asks
part, questionnaire    the parts, and the study that they belong to
given, description     checks of what people give, and questionnaires in JSON or TOML
reports, aggregate     what devices send, and what is counted
observed, classes      what counts say about tables, and the model of all tables together
draws, posterior       draws of all tables, and what is known from them
association            whether two questions have to do with each other
result                 the tables that people read
check                  the public check of what a device tells

What it has in common with other studies is in `localdp.studies`.
"""

from localdp.questionnaires.aggregate import QuestionnaireAggregate
from localdp.questionnaires.check import check_questionnaire
from localdp.questionnaires.questionnaire import Questionnaire
from localdp.questionnaires.reports import QuestionnaireReports

__all__ = ["Questionnaire", "QuestionnaireAggregate", "QuestionnaireReports", "check_questionnaire"]
