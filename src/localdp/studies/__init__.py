"""STUDY: a form, and parts that are answered by disjoint people, each device once.

    places    where a device stands, drawn without looking at its value, and the span that a part asks
    part      what is counted: a plan, and how a person's value is read into its cells
    study     what every study can be asked, and a study on the disk
    series    studies whose parts come one after the other
    run       all of its rounds on values at hand
    single    one plan as a study
    tally     what was counted, by part, day and segment
    reading   a study of any kind from text

`localdp.discovery` and `localdp.sets` have studies of their own.
"""

from localdp.studies.part import Part
from localdp.studies.places import Places, Span
from localdp.studies.reading import register, study_in
from localdp.studies.series import Series
from localdp.studies.single import Single, part_of
from localdp.studies.study import Study
from localdp.studies.tally import Tally

__all__ = ["Part", "Places", "Series", "Single", "Span", "Study", "Tally", "part_of", "register", "study_in"]
