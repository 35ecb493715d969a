"""Surveys as code: one file that can be reviewed describes all surveys of a product.

`file` reads it, `changes` finds out what a collector lacks, `remote` speaks to the collector, and `pages` writes what
follows from the file: the privacy notice, a page of what is asked, and types for the web client.
"""

from localdp.surveys.changes import Change, changes
from localdp.surveys.file import Survey, Surveys, read
from localdp.surveys.remote import Collector

__all__ = ["Change", "Collector", "Survey", "Surveys", "changes", "read"]
