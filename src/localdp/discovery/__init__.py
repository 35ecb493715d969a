"""Discovery: heavy hitters among values that nobody listed, found in rounds of longer and longer prefixes.

codes, prefixes     values as bits; candidates and the cells of a round
design, groups      how many rounds, how many users each, and who answers which
belief, history     what is known about each candidate, and which are kept
rounds, discovery   the round under way, and how it leads to the next
device              one user: a group, and one report
found, run          the result, and a whole discovery on values at hand
"""

from localdp.discovery.device import DiscoveryClient
from localdp.discovery.discovery import Discovery
from localdp.discovery.found import Found
from localdp.discovery.run import discover

__all__ = ["Discovery", "DiscoveryClient", "Found", "discover"]
