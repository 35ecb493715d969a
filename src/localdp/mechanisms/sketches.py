r"""Apple's count mean sketch and its Hadamard form (`cms`, `hcms`): all devices share a few hash functions.

There are k hash functions from the items to m cells, the same for everybody. The device draws one of them, j, without
looking at its value, and perturbs the cell h_j(x) of its item: as one bit of m that are all flipped at random, like
`sue` (`cms`), or as one entry of its row of the Hadamard matrix of order m, in a column l that is drawn too (`hcms`).
A report supports the items whose cell has a set bit, or whose row has the reported entry in column l.

Let p be the probability that a report supports its user's item and q0 that it supports a cell that is not the user's:
p = 1 - q0 with odds e^(epsilon/2) in `cms`; odds e^epsilon and q0 = 1/2 in `hcms`, because two rows agree in exactly
half of the columns. If C_xy of the k functions put x and y in the same cell, a report of y supports x with probability

    q0 + (p - q0) C_xy/k.                                                                                           (1)

**The hashes** are those of `localdp.kernels.linear_hash`, with the multipliers a_1 .. a_k in the field of N = 2^r >= d
elements. Where N - 1 <= 1024, the functions are *all* nonzero multipliers. Then C_xy/k is c = (N/m - 1)/(N - 1) for
every pair, and the mechanism is exactly pure, with q* = q0 + (p - q0) c. Otherwise a_j are 1024 multipliers that look
drawn at random. (1) is then different for every pair, and there is no single q*.

**What shared functions cost.** Debias with the mean q* = q0 + (p - q0) c as always. Over the draw of the functions,
C_xy/k has mean c and variance c (1 - c)/k (1 - (k-1)/(N-2)), independently (nearly) for the pairs of one x. So

    Var(fhat_x) = n q*(1-q*)/(p-q*)^2 + f_x (1-p-q*)/(p-q*) + v sum_(y != x) f_y^2,      v = Var(C/k) (p-q0)^2/(p-q*)^2.

The last term is about |f|^2/(k m). It does not average out: with ten times as many users it is a hundred times as
large. Published code leaves it out.

**Heavy items are taken out.** The functions are known, and so is C_xy. `observe` takes away what the items with
significant estimates add to others, and repeats that with the better estimates. What is left of the last term is that
of the other items, whose sum of squares is estimated from the estimates, without their noise. All C_xy follow from two
transforms: C depends on x XOR y alone, and its Walsh-Hadamard transform at u is N/m times the number of products
l a_j = u, l < m. So sum_y C_xy f_y = (1/m) WHT(number of products * WHT(f)).

**Counting.** A report of `hcms` supports x if its sign s is (-1)^<l, h_a(x)> = (-1)^<l a, x>. So adding up s at the
products l a_j, over the reports, and one Walsh-Hadamard transform of size N give all counts. In `cms`, the numbers of
set bits are transformed over the cells of each function first. No step takes k times d operations.

Apple, "Learning with privacy at scale", 2017; there, k = 65,536, m = 1,024, and the functions are not linear.

>>> mechanism = HadamardCountMeanSketch(size=41_270, epsilon=4.0)
>>> mechanism.pure, mechanism.report_bits, CountMeanSketch(size=41_270, epsilon=4.0).report_bits
(False, 21, 1034)
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from localdp.formats import bitstrings
from localdp.kernels import linear_hash, local_hash
from localdp.kernels.counting import count_bits
from localdp.kernels.galois_field import irreducible, parity
from localdp.kernels.walsh_hadamard import walsh_hadamard
from localdp.mechanisms.channel import Channel
from localdp.mechanisms.hadamard import HadamardEntry
from localdp.mechanisms.laws import Drawn, WeightLaw, lit_bits, require_below
from localdp.mechanisms.observation import Observation, Sketched
from localdp.mechanisms.pure import PureMechanism
from localdp.mechanisms.report_classes import Neighbours, Shuffled, told_by_flag, two_levels
from localdp.mechanisms.unary import SymmetricUnary
from localdp.randomness.keystream import Entropy
from localdp.types import Counts, Flags, Indices, Rows, Words

_FEW_HOLDERS = 1 << 12  # of an item: up to this many draw their functions one by one in a simulation


class Sketch(PureMechanism):
    """The hash functions that all devices share, and what follows from them."""

    takes_sets = False
    most_functions: ClassVar[int] = 1 << 10
    most_cell_bits: ClassVar[int] = 10

    def configure(self) -> None:
        self.degree = (self.size - 1).bit_length()
        # Narrow instances, whose random inputs are all tried, have few cells.
        self.cell_bits = min(self.degree, self.most_cell_bits, max(1, self.width - 2))
        self.functions = min((1 << self.degree) - 1, self.most_functions)
        self.function_bits = max(1, (self.functions - 1).bit_length())
        self._set_noise()

    @abstractmethod
    def _set_noise(self) -> None:
        """The thresholds of the perturbation."""

    @property
    @abstractmethod
    def elsewhere(self) -> Fraction:
        """q0: the probability that a report supports a cell that is not the user's."""

    @abstractmethod
    def split(self, rows: Rows) -> tuple[Words, Rows | Words]:
        """The hash function of each report, and what it says about the cells."""

    @abstractmethod
    def _lit(self, told: Rows | Words, cells: Words) -> Flags:
        """Whether each report supports its cell."""

    @property
    def pure(self) -> bool:
        return self.functions == (1 << self.degree) - 1

    @property
    def q(self) -> Fraction:
        return self.elsewhere + (self.p - self.elsewhere) * self._colliding

    @property
    def _colliding(self) -> Fraction:
        """c: the share of all multipliers that put two given items into one cell."""
        return Fraction((1 << self.degree - self.cell_bits) - 1, (1 << self.degree) - 1)

    @cached_property
    def multipliers(self) -> Words:
        """The multiplier of each hash function.

        They are all nonzero elements of the field in their order, or the first of a fixed sequence that are different.
        """
        if self.pure:
            return np.arange(1, self.functions + 1, dtype=np.uint64)
        drawn = local_hash.mix(np.arange(1, 4 * self.functions + 1, dtype=np.uint32)) >> np.uint32(32 - self.degree)
        _, places = np.unique(drawn, return_index=True)
        different = drawn[np.sort(places)].astype(np.uint64)
        return np.asarray(different[different > 0][: self.functions])

    def cells(self, functions: Words, items: Words) -> Words:
        """The cell of each item under each function; arguments broadcast."""
        return linear_hash.linear_hash(self.multipliers[functions], items, self.degree, self.cell_bits)

    def chance(self, item: int, outcome: int) -> Fraction:
        if item == outcome or self.pure:
            return super().chance(item, outcome)
        differ = self.cells(np.arange(self.functions, dtype=np.uint64), np.array([item ^ outcome], np.uint64))
        together = Fraction(int(np.count_nonzero(differ == 0)), self.functions)
        return self.elsewhere + (self.p - self.elsewhere) * together

    def observe(self, counts: Counts, n: int) -> Observation:
        if self.pure:
            return super().observe(counts, n)
        c, field = self._colliding, 1 << self.degree
        spread = c * (1 - c) / self.functions * (1 - Fraction(self.functions - 1, field - 2))
        p, q = self._exact_pair
        collisions = float(spread * ((p - self.elsewhere) / (p - q)) ** 2)
        return Sketched(counts, n, p, q, self.elsewhere, collisions, self._meetings)

    @cached_property
    def _meetings(self) -> Counts:
        """For each element of the field, how many products l a_j it is."""
        return self._collected(np.ones((self.functions, 1 << self.cell_bits), np.int64))

    def parameters(self) -> dict[str, int | str]:
        return {
            "functions": self.functions,
            "degree": self.degree,
            "polynomial": irreducible(self.degree),
            "cell_bits": self.cell_bits,
        }

    def drawn_in(self, rows: Rows) -> Drawn:
        return Drawn(self.split(rows)[0], self.functions, 1 / self.functions)

    @property
    def most_supported(self) -> int:
        return self.size

    def validate(self, rows: Rows) -> None:
        super().validate(rows)
        require_below(self.functions, self.split(rows)[0], "a hash function", "they")

    def supports(self, rows: Rows, item: int) -> Flags:
        functions, told = self.split(rows)
        return self._lit(told, self.cells(functions, np.array([item], np.uint64)))

    def count(self, rows: Rows) -> Counts:
        return self.complete(self.count_partial(rows), rows.shape[0])

    @property
    def partial_size(self) -> int:
        return self.functions << self.cell_bits

    def _at_products(self, table: Counts) -> Counts:
        """The transform of what `_collected` gives, for the items."""
        collected = self._collected(table)
        walsh_hadamard(collected)
        return collected[: self.size]

    def _collected(self, table: Counts) -> Counts:
        """The sums of the table's entries, for functions a and columns l, at the products l a."""
        collected = np.zeros(1 << self.degree, np.int64)
        collected[0] = table[:, 0].sum()
        for column, product in linear_hash.products(self.multipliers, self.degree, self.cell_bits):
            collected[product] += table[:, column]
        return collected

    def shuffled(self) -> Shuffled:
        """From above, as if no two items ever shared a cell; from below, by whether reports support one item.

        Where there are as many cells as elements of the field, no two items do share one.
        """
        if self.cell_bits == self.degree:
            return Shuffled.alike(self._apart())
        third = self.chance(2, 0) if self.size > 2 else self.p
        return Shuffled((self._apart(),), (told_by_flag(self.p, self.chance(1, 0), third),))

    @abstractmethod
    def _apart(self) -> Neighbours:
        """The classes of reports for items that never share a cell."""


class CountMeanSketch(Sketch):
    """A bit for each of m cells, all perturbed as in `sue`, after a hash function that is drawn from k."""

    name = "cms"

    def _set_noise(self) -> None:
        self.bits = SymmetricUnary(1 << self.cell_bits, self.requested_epsilon, self.width)

    @property
    def p(self) -> Fraction:
        return self.bits.p

    @property
    def elsewhere(self) -> Fraction:
        return self.bits.q

    @property
    def ratio(self) -> Fraction:
        return self.bits.ratio

    @property
    def report_bits(self) -> int:
        return self.bits.report_bits + self.function_bits

    def parameters(self) -> dict[str, int | str]:
        return super().parameters() | self.bits.parameters()

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        functions = source.below(self.functions, values.size)
        rows = self.bits.randomize(self.cells(functions, values.astype(np.uint64)).astype(np.int64), source)
        return self._joined(rows, functions)

    def _joined(self, rows: Rows, functions: Words) -> Rows:
        """The bits of the cells, and the function after them."""
        if self.bits.report_bits % 8:
            shifted = functions << np.uint64(self.bits.report_bits)
            return bitstrings.from_integers(bitstrings.to_integers(rows) | shifted, self.report_bits)
        return np.hstack([rows, bitstrings.from_integers(functions, self.function_bits)])

    def split(self, rows: Rows) -> tuple[Words, Rows]:
        whole, rest = divmod(self.bits.report_bits, 8)
        functions = bitstrings.to_integers(rows[:, whole:]) >> np.uint64(rest)
        return functions, rows[:, :whole] if whole else rows[:, :1] & np.uint8((1 << rest) - 1)

    def _lit(self, told: Rows | Words, cells: Words) -> Flags:
        octets = np.take_along_axis(told, (cells >> np.uint64(3)).astype(np.int64)[:, None], axis=1)[:, 0]
        return np.asarray(octets >> (cells & np.uint64(7)).astype(np.uint8) & np.uint8(1) != 0)

    @property
    def weight_law(self) -> WeightLaw:
        return self.bits.weight_law

    def weights(self, rows: Rows) -> Counts:
        return lit_bits(self.split(rows)[1])

    def count_partial(self, rows: Rows) -> Counts:
        functions, cells = self.split(rows)
        order = np.argsort(functions, kind="stable")
        ends = np.searchsorted(functions[order], np.arange(1, self.functions + 1))
        table = np.zeros((self.functions, 1 << self.cell_bits), np.int64)
        start = 0
        for function, end in enumerate(ends.tolist()):
            if end > start:
                table[function] = count_bits(cells[order[start:end]], 1 << self.cell_bits)
            start = end
        return table.reshape(-1)

    def complete(self, sums: Counts, n: int) -> Counts:  # noqa: ARG002 (the set bits are counted, not the reports)
        table = sums.reshape(self.functions, -1).copy()
        walsh_hadamard(table, axis=1)
        return self._at_products(table) >> self.cell_bits

    def simulate(self, frequencies: Counts, seed: int | None) -> Counts:
        """Draw how many holders of each item draw each function; then the bits of a cell are two binomials."""
        rng = np.random.default_rng(seed)
        table = np.zeros((self.functions, 1 << self.cell_bits), np.int64)
        every = np.arange(self.functions, dtype=np.uint64)
        many = frequencies > _FEW_HOLDERS
        for item in np.flatnonzero(many).tolist():
            drawn = rng.multinomial(frequencies[item], np.full(self.functions, 1 / self.functions))
            table[every, self.cells(every, np.array([item], np.uint64))] += drawn
        few = np.where(many, 0, frequencies)
        items = np.repeat(np.arange(self.size, dtype=np.uint64), few)
        functions = rng.integers(0, self.functions, items.size).astype(np.uint64)
        np.add.at(table, (functions, self.cells(functions, items)), 1)
        others = table.sum(axis=1, keepdims=True) - table
        lit = rng.binomial(table, self.bits.p_star) + rng.binomial(others, self.bits.q_star)
        return self.complete(lit.reshape(-1), int(frequencies.sum()))

    def channel(self) -> Channel:
        self._check_channel(self.functions << self.bits.report_bits)
        inner = self.bits.channel()
        functions = np.arange(self.functions, dtype=np.uint64)
        cells = self.cells(functions[:, None], np.arange(self.size, dtype=np.uint64))
        rows = tuple(
            tuple(chance / self.functions for cell in cells[:, value].tolist() for chance in inner.probabilities[cell])
            for value in range(self.size)
        )
        repeated = np.tile(inner.reports, (self.functions, 1))
        return Channel(self._joined(repeated, np.repeat(functions, len(inner.reports))), rows)

    def _apart(self) -> Neighbours:
        return self.bits.shuffled().upper[0]


class HadamardCountMeanSketch(HadamardEntry, Sketch):
    """One entry of the row of a Hadamard matrix, after a hash function that is drawn from k: a report of one bit."""

    name = "hcms"

    @property
    def elsewhere(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def report_bits(self) -> int:
        return self.function_bits + self.cell_bits + 1

    def parameters(self) -> dict[str, int | str]:
        return super().parameters() | {"keep": str(self.keep)}

    def randomize(self, values: Indices, source: Entropy) -> Rows:
        functions = source.below(self.functions, values.size)
        columns = source.bits(values.size, self.cell_bits) & np.uint64((1 << self.cell_bits) - 1)
        flipped = (source.integers(values.size) >= self.keep).astype(np.uint64)
        entries = parity(columns & self.cells(functions, values.astype(np.uint64))) ^ flipped
        return self._joined(functions, columns | entries << np.uint64(self.cell_bits))

    def _joined(self, functions: Words, told: Words) -> Rows:
        return bitstrings.from_integers(functions | told << np.uint64(self.function_bits), self.report_bits)

    def split(self, rows: Rows) -> tuple[Words, Words]:
        reports = bitstrings.to_integers(rows)
        return reports & np.uint64((1 << self.function_bits) - 1), reports >> np.uint64(self.function_bits)

    def _lit(self, told: Rows | Words, cells: Words) -> Flags:
        return np.asarray(parity(told & cells) == told >> np.uint64(self.cell_bits))

    def count_partial(self, rows: Rows) -> Counts:
        functions, told = self.split(rows)
        columns = told & np.uint64((1 << self.cell_bits) - 1)
        place = (functions << np.uint64(self.cell_bits) | columns).astype(np.int64)
        signs = 1.0 - 2.0 * (told >> np.uint64(self.cell_bits))
        return np.bincount(place, signs, self.partial_size).astype(np.int64)

    def complete(self, sums: Counts, n: int) -> Counts:
        return self._at_products(sums.reshape(self.functions, -1)) + n >> 1

    def channel(self) -> Channel:
        told = 2 << self.cell_bits
        self._check_channel(self.functions * told)
        functions = np.repeat(np.arange(self.functions, dtype=np.uint64), told)
        reports = np.tile(np.arange(told, dtype=np.uint64), self.functions)
        kept, flipped = (chance / (self.functions << self.cell_bits) for chance in (self.p, 1 - self.p))
        rows = tuple(
            tuple(
                kept if lit else flipped
                for lit in self._lit(reports, self.cells(functions, np.array([value], np.uint64))).tolist()
            )
            for value in range(self.size)
        )
        return Channel(self._joined(functions, reports), rows)

    def _apart(self) -> Neighbours:
        half = Fraction(1, 2)
        return two_levels(self.p, half, half**2, half**3 if self.size > 2 else None)
