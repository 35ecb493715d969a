"""Discovery: heavy hitters among values that nobody listed, found in rounds of longer and longer prefixes.

codes                     values as bits
books, library, symbols   how texts are written: tables of symbols, those in use, and the first of them
prefixes, question        candidates, and the cells that values are read into
rounds                    the round under way
design, schedule, reach   how many rounds, how many users each, who answers which, and what can be found
belief, history, steps    what is known about each candidate, and which are kept
discovery                 how a round leads to the next
posteriors, ranks, found   the result: shares, chances to belong to the top, and the list
run                       a whole discovery on values at hand
device                    one user, by an older name of `localdp.Client`

What it has in common with other studies is in `localdp.studies`.
"""

from localdp.discovery.device import DiscoveryClient
from localdp.discovery.discovery import Discovery
from localdp.discovery.found import Found
from localdp.discovery.reach import Reach
from localdp.discovery.run import discover

__all__ = ["Discovery", "DiscoveryClient", "Found", "Reach", "discover"]
