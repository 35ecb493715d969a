"""A slow client, written from docs/wire-format.md alone: plain Python that reads a plan and random words.

It imports nothing of localdp. The golden vectors and the library's own reports are compared with it.
"""

from __future__ import annotations

import json

WORD = 1 << 64
REACH = 254


class Words:
    """Random bytes as little-endian words of 64 bits."""

    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def word(self) -> int:
        self.used += 8
        assert self.used <= len(self.data), "the random bytes ran out"
        return int.from_bytes(self.data[self.used - 8 : self.used], "little")

    def event(self, threshold: int) -> bool:
        return self.word() < threshold

    def below(self, bound: int) -> int:
        if bound == 1:
            return 0
        while (quotient := self.word() // (WORD // bound)) >= bound:
            pass
        return quotient


def noise_bits(words: Words, d: int, noise: int) -> list[int]:
    return by_jumps(words, d, noise) if noise <= 1 << 59 else by_digits(words, d, noise)


def by_digits(words: Words, d: int, noise: int) -> list[int]:
    """Compare d uniform numbers with the threshold, digit by digit."""
    digits = [noise >> place & 1 for place in range(63, -1, -1)]
    while not digits[-1]:
        digits.pop()
    bits: list[int | None] = [None] * d
    for place, digit in enumerate(digits):
        for start in range(0, d, 64):
            group = range(start, min(start + 64, d))
            if place < 9 or any(bits[item] is None for item in group):
                drawn = words.word()
                for item in group:
                    own = drawn >> item - start & 1
                    if bits[item] is None and own != digit:
                        bits[item] = 1 - own
    return [bit or 0 for bit in bits]


def by_jumps(words: Words, d: int, noise: int) -> list[int]:
    """Jump from one 1 to the next."""
    whole = 1 << 64 * REACH
    edges = [whole - ((WORD - noise) ** j << 64 * (REACH - j)) for j in range(1, REACH + 1)]
    bits, at = [0] * d, 0
    while at < d:
        digits, read = words.word(), 1
        # An edge that begins with exactly these digits and goes on leaves it open whether it is at most U.
        while any(
            edge >> 64 * (REACH - read) == digits and edge % (1 << 64 * (REACH - read))
            for edge in edges[: max(0, d - at)]
        ):
            digits, read = digits << 64 | words.word(), read + 1
        passed = sum(edge <= digits << 64 * (REACH - read) for edge in edges)
        if passed < REACH and at + passed < d:
            bits[at + passed] = 1
        at += passed + (passed < REACH)
    return bits


def unary(words: Words, d: int, item: int, given: dict[str, str]) -> list[int]:
    own = words.event(int(given["keep"]))
    bits = noise_bits(words, d, int(given["noise"]))
    bits[item] = int(own)
    return bits


def permanent(plan: dict, item: int, words: Words) -> list[int]:
    """The bits of the permanent response of a chain."""
    d, given = size(plan), plan["parameters"]
    if plan["mechanism"] != "grr+grr":
        return unary(words, d, item, given)
    truthful, other = words.event(int(given["truth"])), words.below(d)
    return binary(item if truthful else other, (d - 1).bit_length())


def again(plan: dict, response: list[int], words: Words) -> list[int]:
    """The bits of one report from a permanent response."""
    d, given = size(plan), plan["parameters"]
    if plan["mechanism"] == "grr+grr":
        truthful, other = words.event(int(given["again_truth"])), words.below(d)
        return response if truthful else binary(other, len(response))
    if plan["mechanism"].endswith("+sue"):
        flips = noise_bits(words, d, int(given["again_noise"]))
        return [bit ^ flip for bit, flip in zip(response, flips, strict=True)]
    groups = [words.word() for _ in range(0, d, 64)]
    noise = noise_bits(words, d, int(given["again_noise"]))
    return [groups[i >> 6] >> (i & 63) & 1 if bit else noise[i] for i, bit in enumerate(response)]


def dbit(plan: dict, item: int, words: Words) -> list[int]:
    """The bits of a report of dbit."""
    d, b, given = size(plan), plan["answers"], plan["parameters"]
    chosen: list[int] = []
    for last in range(d - b, d):
        u = words.below(last + 1)
        chosen.append(last if u in chosen else u)
    bits: list[int] = []
    for asked in sorted(chosen):
        held, other = words.event(int(given["keep"])), words.event(int(given["noise"]))
        bits += [*binary(asked, (d - 1).bit_length()), int(held if asked == item else other)]
    return bits


def element(plan: dict, held: list[int], words: Words) -> tuple[int, int]:
    """The element that a user who holds these items reports, and the number of elements that there are."""
    d, most, grr = size(plan), plan["set_size"], plan["mechanism"] == "grr"
    place, word = words.below(most), words.word()
    if len(held) > most:
        drawn = sorted(held)[word * len(held) >> 64]
    elif place < len(held):
        drawn = sorted(held)[place]
    else:
        drawn = d + place if grr else d
    return drawn, d + (most if grr else 1)


def privset(plan: dict, held: list[int], words: Words) -> list[int]:
    """The bits of the report of a set, by privset."""
    d, m, k = size(plan), plan["set_size"], plan["parameters"]["subset"]
    start = words.word() * max(1, len(held)) >> 64
    items = sorted(held)
    if len(items) > m:
        padded = sorted(items[(start + t) % len(items)] for t in range(m))
    else:
        padded = items + list(range(d, d + m - len(items)))
    word, end, common = words.word(), 0, None
    for j, hit in enumerate(map(int, plan["parameters"]["hits"].split(",")), 1):
        end += hit
        if common is None and word < end:
            common = j
    urn = 0
    for t in range(m):
        urn += words.below(d + m - t) < k - urn
    common = urn if common is None else common
    lit = floyd(words, m, m, m - common) | {m + place for place in floyd(words, d, k, common)}
    bits = [int(place in lit) for place in range(d + m)]
    for t in reversed(range(m)):
        bits[t], bits[padded[t]] = bits[padded[t]], bits[t]
    return bits


def floyd(words: Words, size: int, rounds: int, skipped: int) -> set[int]:
    """A random subset of 0 .. size-1; the first `skipped` rounds draw and choose nothing."""
    chosen: set[int] = set()
    for turn, last in enumerate(range(size - rounds, size)):
        place = words.below(last + 1)
        if turn >= skipped:
            chosen.add(last if place in chosen else place)
    return chosen


def of_set(plan: dict, held: list[int], words: Words) -> list[int]:
    """The bits of the report of a set, by grr, sue, oue or privset."""
    if plan["mechanism"] == "privset":
        return privset(plan, held, words)
    drawn, elements = element(plan, held, words)
    if plan["mechanism"] != "grr":
        return unary(words, elements, drawn, plan["parameters"])
    truthful, other = words.event(int(plan["parameters"]["truth"])), words.below(elements)
    return binary(drawn if truthful else other, (elements - 1).bit_length())


def size(plan: dict) -> int:
    domain = plan["domain"]
    return domain["size"] if "size" in domain else len(domain["items"])


def binary(number: int, bits: int) -> list[int]:
    return [number >> place & 1 for place in range(bits)]


def packed(bits: list[int]) -> bytes:
    number = sum(bit << place for place, bit in enumerate(bits))
    return number.to_bytes(-(-len(bits) // 8), "little")


def unpacked(data: bytes, bits: int) -> list[int]:
    return binary(int.from_bytes(data, "little"), bits)


def read(text: str) -> dict:
    return json.loads(text)
