"""Discovery: heavy hitters among values that nobody listed, found in rounds of longer and longer prefixes.

codes, huffman, symbols   values as bits
prefixes, rounds          candidates and the cells of a round; the round under way
design, schedule, places  how many rounds, how many users each, and who answers which
belief, history, steps    what is known about each candidate, and which are kept
discovery, saved          how a round leads to the next, and the state on a disk
device, delivery          one user: a place, and one report, kept until it is delivered
found, run                the result, and a whole discovery on values at hand
"""

from localdp.discovery.device import DiscoveryClient
from localdp.discovery.discovery import Discovery
from localdp.discovery.found import Found
from localdp.discovery.run import discover

__all__ = ["Discovery", "DiscoveryClient", "Found", "discover"]
