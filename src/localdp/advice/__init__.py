"""Advice before anything is collected: which epsilon, which mechanism, how many users; and what forgers could do.

>>> from localdp.advice import advise
>>> advise(100, 50_000)
<Advice for 100 items, 50,000 users: ss at epsilon 2.87>
"""

from localdp.advice.advice import Advice, advise
from localdp.advice.options import Option
from localdp.forgery.fake_users import FakeUsers, Forged, fake_users

__all__ = ["Advice", "FakeUsers", "Forged", "Option", "advise", "fake_users"]
