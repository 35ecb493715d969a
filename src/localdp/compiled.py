"""The inner loops compiled by Numba, each giving bit for bit what the NumPy definition of the same name gives.

The only module that knows Numba; `localdp.acceleration` loads it when there is enough to do. Loops release the
interpreter's lock, and their machine code is kept beside this file or wherever Numba finds a place to write.
A function that returns `NotImplemented` leaves the work to the definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from localdp.bitstrings import Rows, byte_length
from localdp.entropy import Entropy, Keystream, Words
from localdp.galois import by_item, irreducible, items_by_symbol, logarithms
from localdp.hashing import Hashes
from localdp.jumps import REACH, UNSETTLED, Jumps
from localdp.kernels import EAGER_PLANES, PAST_THE_LAST, digits_to_compare, long_rows, users_together

Vector = NDArray[np.float64]

_LANES = 1024  # words whose undecided lanes stay in the first-level cache


def _compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return numba.njit(loop, nogil=True, cache=True)
    except RuntimeError:  # there is nowhere to keep the machine code
        return numba.njit(loop, nogil=True)


# Biased bits.


def biased_bits(
    entropy: Entropy, users: int, bits: int, threshold: int, width: int, eager: int = EAGER_PLANES
) -> Words:
    if not isinstance(entropy, Keystream) or not threshold or not users:
        return NotImplemented
    columns = -(-bits // 64)
    digits = digits_to_compare(threshold, width)
    last_lanes = np.uint64((1 << (bits - 1) % 64 + 1) - 1)
    eager = min(eager, digits.size)
    below = np.empty((users, columns), np.uint64)
    step = users_together(bits)
    for start in range(0, users, step):
        part = below[start : start + step].reshape(-1)
        ahead = eager * part.size + part.size * 17 // 64 + 64  # what nine eager planes leave open, and some

        def settle(words: Words, part: Words = part) -> int:
            return int(_settle(words, digits, eager, columns, last_lanes, part))

        while entropy.consume(ahead, settle) == 0:
            ahead *= 2  # more ties than usual: nothing is used up yet
    return below


@_compiled
def _settle(words, digits, eager, columns, last_lanes, below):
    size = below.size
    undecided = np.empty(size, np.uint64)
    for start in range(0, size, _LANES):
        result, lanes = below[start : start + _LANES], undecided[start : start + _LANES]
        result[:] = np.uint64(0)
        lanes[:] = ~np.uint64(0)
        for plane in range(0, eager - 2, 3):
            _settle_three(words, digits[plane:], plane * size + start, size, result, lanes)
        for plane in range(eager - eager % 3, eager):
            coins = words[plane * size + start : plane * size + start + result.size]
            one = _ones_if(digits[plane])
            for i in range(result.size):
                tied = coins[i] ^ ~one
                result[i] |= lanes[i] & ~tied & one
                lanes[i] &= tied
    for last in range(columns - 1, size, columns):
        below[last] &= last_lanes
        undecided[last] &= last_lanes
    used = eager * size
    where = np.empty(size, np.int64)
    left = 0
    for i in range(size):
        where[left] = i
        left += undecided[i] != 0
    for digit in range(eager, digits.size):
        if not left:
            break
        if used + left > words.size:
            return 0
        still = 0
        for k in range(left):
            i = where[k]
            coin = words[used + k]
            lanes = undecided[i]
            if digits[digit]:
                below[i] |= lanes & ~coin
                lanes &= coin
            else:
                lanes &= ~coin
            undecided[i] = lanes
            where[still] = i
            still += lanes != 0
        used += left
        left = still
    return used


# Rare bits.


def light_along(entropy: Keystream, law: Jumps, lit: Words, bits: int, at: int) -> int:
    end = lit.shape[0] * bits

    def use(words: Words) -> int:
        nonlocal at
        used, at = _light_along(words, law.table, law.leading, lit, bits, at)
        return int(used) if at < end else words.size

    entropy.consume(law.enough(end - at), use)
    return at


@_compiled
def _light_along(words, table, leading, lit, bits, at):
    """How many words are used, and where the next jump starts."""
    user, place = at // bits, at % bits
    for used in range(words.size):
        found = np.int64(table[words[used] >> np.uint64(48)])
        if found == UNSETTLED:
            found = np.searchsorted(leading, words[used])
            if found < REACH and leading[found] == words[used]:
                return used, user * bits + place
        place += found
        if place >= bits:
            user += place // bits
            place %= bits
        if user >= lit.shape[0]:
            return used + 1, user * bits + place + (found < REACH)
        if found < REACH:
            lit[user, place >> 6] |= np.uint64(1) << np.uint64(place & 63)
            place += 1
            if place == bits:
                user, place = user + 1, 0
                if user == lit.shape[0]:
                    return used + 1, user * bits
    return words.size, user * bits + place


@_compiled
def _settle_three(words, digits, start, size, result, lanes):
    """Three planes in one pass over the lanes."""
    first = words[start : start + result.size]
    second = words[start + size : start + size + result.size]
    third = words[start + 2 * size : start + 2 * size + result.size]
    one, two, three = _ones_if(digits[0]), _ones_if(digits[1]), _ones_if(digits[2])
    for i in range(result.size):
        below, open_ = result[i], lanes[i]
        tied = first[i] ^ ~one
        below |= open_ & ~tied & one
        open_ &= tied
        tied = second[i] ^ ~two
        below |= open_ & ~tied & two
        open_ &= tied
        tied = third[i] ^ ~three
        result[i] = below | open_ & ~tied & three
        lanes[i] = open_ & tied


@_compiled
def _ones_if(digit):
    return ~np.uint64(0) if digit else np.uint64(0)


def replace_bits(words: Words, positions: NDArray[np.int64], coins: Words, threshold: int) -> None:
    _replace(words, positions, coins, np.uint64(threshold))


@_compiled
def _replace(words, positions, coins, threshold):
    one = np.uint64(1)
    for row in range(positions.size):
        place = np.uint64(positions[row] & 63)
        lit = np.uint64(coins[row] < threshold)
        word = words[row, positions[row] >> 6]
        words[row, positions[row] >> 6] = word & ~(one << place) | lit << place


# Subsets.


def draw_subsets(entropy: Entropy, values: NDArray[np.int64], size: int, subset: int, keep: int) -> Rows:
    if not isinstance(entropy, Keystream) or entropy.width != 64 or size == subset + 1:
        return NotImplemented
    rows = np.zeros((values.size, byte_length(size)), np.uint8)

    def draw(words: Words) -> int:
        return words.size * _draw_subsets(words.reshape(-1, values.size), values, size, np.uint64(keep), rows)

    return rows if entropy.consume((1 + subset) * values.size, draw) else NotImplemented


@_compiled
def _draw_subsets(words, values, size, keep, rows):
    """Whether no draw had to be rejected."""
    first = size - words.shape[0] + 1
    for last in range(first, size):
        share = ~np.uint64(0) // np.uint64(last)
        share += np.uint64(share * np.uint64(last) + np.uint64(last) == 0)  # floor(2^64 / last)
        draws = words[1 + last - first]
        for user in range(values.size):
            drawn = np.int64(draws[user] // share)
            if drawn >= last:
                return False
            drawn += 1
            if last == first:
                drawn *= words[0, user] >= keep
            else:
                candidate = _onward(values[user], drawn, size)
                taken = rows[user, candidate >> 3] >> (candidate & 7) & 1
                drawn += taken * (last - drawn)
            chosen = _onward(values[user], drawn, size)
            rows[user, chosen >> 3] |= np.uint8(1 << (chosen & 7))
    return True


@_compiled
def _onward(value, steps, size):
    shifted = value + steps
    return shifted - size * (shifted >= size)


# Positional counts.


def count_bits(rows: Rows, bits: int) -> NDArray[np.int64]:
    words, rest = long_rows(rows, _BLOCK)
    counts = np.zeros(64 * words.shape[1], np.int64)
    _count_columns(_read_only(words.reshape(-1)), words.shape[1], counts)
    few = np.unpackbits(rest, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return (counts.reshape(-1, few.size).sum(axis=0) + few)[:bits]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array, never to be written: a loop is compiled anew for what may be, and reports may not."""
    view = array.view()
    view.setflags(write=False)
    return view


_BLOCK = 512  # words of a row at a time: sixteen rows and the planes stay in the cache
_PLANES = 20
_PAD = 8  # planes a power of two apart would fight for the same lines of the cache


@_compiled
def _add(one, two, three):
    """Three bits as carry and sum."""
    half = one ^ two
    return (one & two) | (half & three), half ^ three


@_compiled
def _add_sixteen(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ones, twos, fours, eights, sixteens):  # noqa: E741
    """Add sixteen rows to the planes; what passes fifteen goes to `sixteens`."""
    for x in range(ones.size):
        first, one = _add(ones[x], a[x], b[x])
        second, one = _add(one, c[x], d[x])
        third, two = _add(twos[x], first, second)
        first, one = _add(one, e[x], f[x])
        second, one = _add(one, g[x], h[x])
        fourth, two = _add(two, first, second)
        fifth, four = _add(fours[x], third, fourth)
        first, one = _add(one, i[x], j[x])
        second, one = _add(one, k[x], l[x])
        third, two = _add(two, first, second)
        first, one = _add(one, m[x], n[x])
        second, one = _add(one, o[x], p[x])
        fourth, two = _add(two, first, second)
        sixth, four = _add(four, third, fourth)
        ones[x], twos[x], fours[x] = one, two, four
        sixteens[x], eights[x] = _add(eights[x], fifth, sixth)


@_compiled
def _add_rows(rows, start, apart, width, planes, carry):
    """Sixteen stretches of a flat array, `apart` words from one to the next, added to four planes."""
    a, b, c, d = start, start + apart, start + 2 * apart, start + 3 * apart
    e, f, g, h = a + 4 * apart, b + 4 * apart, c + 4 * apart, d + 4 * apart
    i, j, k, l = a + 8 * apart, b + 8 * apart, c + 8 * apart, d + 8 * apart  # noqa: E741
    m, n, o, p = e + 8 * apart, f + 8 * apart, g + 8 * apart, h + 8 * apart
    _add_sixteen(
        rows[a : a + width], rows[b : b + width], rows[c : c + width], rows[d : d + width],
        rows[e : e + width], rows[f : f + width], rows[g : g + width], rows[h : h + width],
        rows[i : i + width], rows[j : j + width], rows[k : k + width], rows[l : l + width],
        rows[m : m + width], rows[n : n + width], rows[o : o + width], rows[p : p + width],
        planes[0, :width], planes[1, :width], planes[2, :width], planes[3, :width], carry[:width],
    )  # fmt: skip


_FLUSH = 16 * ((1 << _PLANES - 8) - 1)


@_compiled
def _spread(plane, weight, counts):
    for x in range(plane.size):
        word = plane[x]
        if word == 0:
            continue  # most of the high planes
        lanes = counts[64 * x : 64 * x + 64]
        for bit in range(64):
            lanes[bit] += np.int64(word >> np.uint64(bit) & np.uint64(1)) << weight


@_compiled
def _count_columns(words, length, counts):
    """Add to the counts how many of the rows of `length` words have each bit set.

    A carry-save adder: rows go sixteen at a time into planes of weight 1, 2, 4 and 8, sixteen of their carries into
    those of weight 16 to 128, and the carries of these ripple up.
    """
    rows = words.size // length
    stride = _BLOCK + _PAD
    planes = np.empty((_PLANES, stride), np.uint64)
    held = np.empty(16 * stride, np.uint64)
    tail = np.empty(16 * stride, np.uint64)
    carry = np.empty(stride, np.uint64)
    for start in range(0, length, _BLOCK):
        width = min(_BLOCK, length - start)
        planes[:] = 0
        held[:] = 0
        steps = (rows + 15) // 16
        for step in range(steps):
            into = held[step % 16 * stride :]
            if 16 * step + 16 <= rows:
                _add_rows(words, 16 * step * length + start, length, width, planes, into)
            else:
                tail[:] = 0
                for row in range(16 * step, rows):
                    place = (row - 16 * step) * stride
                    tail[place : place + width] = words[row * length + start : row * length + start + width]
                _add_rows(tail, 0, stride, width, planes, into)
            if step % 16 == 15 or step == steps - 1:
                _add_rows(held, 0, stride, width, planes[4:], carry)
                held[:] = 0
                for place in range(8, _PLANES):
                    plane = planes[place]
                    for x in range(width):
                        before = plane[x]
                        plane[x] = before ^ carry[x]
                        carry[x] &= before
            if step % _FLUSH == _FLUSH - 1 or step == steps - 1:
                for place in range(_PLANES):
                    _spread(planes[place, :width], place, counts[64 * start :])
                planes[:] = 0


# Histograms and transforms.


def add_histogram(rows: Rows, counts: NDArray[np.integer]) -> None:
    if not _add_histogram(_read_only(np.ascontiguousarray(rows)), counts):
        raise ValueError(PAST_THE_LAST.format(counts.size))


@_compiled
def _add_histogram(rows, counts):
    for row in range(rows.shape[0]):
        value = np.int64(0)
        for octet in range(rows.shape[1]):
            value |= np.int64(rows[row, octet]) << 8 * octet
        if not 0 <= value < counts.size:
            return False
        counts[value] += 1
    return True


def walsh_hadamard(values: NDArray[np.integer], axis: int = 0) -> None:  # noqa: ARG001 (there is one)
    if values.ndim != 1 or not values.flags.c_contiguous:
        return NotImplemented
    _transform(values, min(values.size, _IN_CACHE))
    return None


_IN_CACHE = 1 << 14  # numbers
_TILE = 256
_SHORT = 64


@_compiled
def _transform(values, block):
    """First inside blocks that fit the cache, then across them."""
    for start in range(0, values.size, block):
        part = values[start : start + block]
        half = 1
        while half < min(block, _SHORT):
            for base in range(0, block, 2 * half):
                for x in range(base, base + half):
                    one, two = part[x], part[x + half]
                    part[x], part[x + half] = one + two, one - two
            half *= 2
        _butterflies(part, block // half, half, 0, half)
    for start in range(0, block, _TILE):
        _butterflies(values, values.size // block, block, start, min(block, start + _TILE))


@_compiled
def _butterflies(matrix, rows, columns, start, stop):
    """Transform columns `start` to `stop` of a flat matrix along its rows."""
    half = 1
    while half < rows:
        for base in range(0, rows, 2 * half):
            for row in range(base, base + half):
                first = matrix[row * columns + start : row * columns + stop]
                second = matrix[(row + half) * columns + start : (row + half) * columns + stop]
                for x in range(first.size):
                    one, two = first[x], second[x]
                    first[x], second[x] = one + two, one - two
        half *= 2


# Linear local hashing.


def linear_hash(multipliers: Words, items: Words, degree: int, bits: int) -> Words:
    if multipliers.shape != items.shape or multipliers.ndim != 1:
        return NotImplemented
    hashed = np.empty(items.size, np.uint64)
    _linear_hash(multipliers, items, degree, bits, irreducible(degree), hashed)
    return hashed


@_compiled
def _linear_hash(multipliers, items, degree, bits, polynomial, hashed):
    for user in range(items.size):
        power, item, symbol = np.int64(multipliers[user]), np.int64(items[user]), np.int64(0)
        for place in range(bits):
            symbol |= _parity(power & item) << place
            power = _times_x(power, degree, polynomial)
        hashed[user] = np.uint64(symbol)


@_compiled
def _parity(number):
    """The parity of at most 32 bits."""
    number ^= number >> 16
    number ^= number >> 8
    number ^= number >> 4
    return 0x6996 >> (number & 15) & 1


@_compiled
def _times_x(element, degree, polynomial):
    return element << 1 ^ (element >> degree - 1) * polynomial


def collect_histogram(rows: Rows, degree: int, bits: int) -> NDArray[np.int64]:
    histogram = np.zeros(1 << degree + bits, np.int32)
    add_histogram(rows, histogram)
    collected = np.zeros(1 << degree, np.int64)
    _collect_histogram(histogram, degree, bits, irreducible(degree), collected)
    return collected


@_compiled
def _collect_histogram(histogram, degree, bits, polynomial, collected):
    field, alphabet = 1 << degree, 1 << bits
    width = min(field, _TILE)
    powers, product = np.empty((bits, width), np.int64), np.empty(width, np.int64)
    for start in range(0, field, width):
        _butterflies(histogram, alphabet, field, start, start + width)
        for x in range(width):
            product[x] = 0
            powers[0, x] = start + x
            for place in range(1, bits):
                powers[place, x] = _times_x(powers[place - 1, x], degree, polynomial)
        for number in range(1, alphabet):
            power = powers[_lowest_set_bit(number)]
            symbol = number ^ number >> 1
            part = histogram[symbol * field + start : symbol * field + start + width]
            for x in range(width):
                product[x] ^= power[x]
                collected[product[x]] += part[x]


@_compiled
def _lowest_set_bit(number):
    place = 0
    while not number >> place & 1:
        place += 1
    return place


def collect_reports(multipliers: Words, symbols: Words, degree: int, bits: int) -> NDArray[np.int64]:
    collected = np.zeros(1 << degree, np.int64)
    _collect_reports(multipliers, symbols, degree, bits, irreducible(degree), collected)
    return collected


@_compiled
def _collect_reports(multipliers, symbols, degree, bits, polynomial, collected):
    powers, signs = np.empty(bits, np.int64), np.empty(bits, np.int64)
    for report in range(multipliers.size):
        power, symbol = np.int64(multipliers[report]), np.int64(symbols[report])
        for place in range(bits):
            powers[place], signs[place] = power, 1 - 2 * (symbol >> place & 1)
            power = _times_x(power, degree, polynomial)
        product, sign = np.int64(0), np.int64(1)
        for number in range(1, 1 << bits):
            place = _lowest_set_bit(number)
            product ^= powers[place]
            sign *= signs[place]
            collected[product] += sign


def list_support(multipliers: Words, symbols: Words, degree: int, bits: int) -> NDArray[np.int64]:
    of_elements, of_items = logarithms(degree)
    sums = np.zeros(3 * of_items.size, np.int32)  # a report adds one to an item at most
    _list_support(multipliers, symbols, of_elements, items_by_symbol(of_items, bits), sums)
    return by_item(sums.astype(np.int64), of_items, int(np.count_nonzero(symbols == 0)))


@_compiled
def _list_support(multipliers, symbols, of_elements, by_symbol, sums):
    period = of_elements.size - 1
    for report in range(multipliers.size):
        shift = period - of_elements[multipliers[report]]
        for logarithm in by_symbol[symbols[report]]:
            sums[logarithm + shift] += 1


# Local hashing.


def count_hashed(seeds: Hashes, first: Hashes, span: Hashes, mixed: Hashes) -> NDArray[np.int64]:
    counts = np.zeros(mixed.size, np.int64)
    _count_hashed(seeds, first, span, mixed, counts)
    return counts


_ITEMS = 2048
_USERS = 4096


@_compiled
def _count_hashed(seeds, first, span, mixed, counts):
    for users in range(0, seeds.size, _USERS):
        for start in range(0, mixed.size, _ITEMS):
            items = mixed[start : start + _ITEMS]
            found = np.zeros(items.size, np.uint32)
            for user in range(users, min(users + _USERS, seeds.size)):
                seed, low, reach = seeds[user], first[user], span[user]
                for x in range(items.size):
                    h = np.uint32(seed ^ items[x])
                    h = np.uint32((h ^ h >> np.uint32(17)) * np.uint32(0xED5AD4BB))
                    h = np.uint32((h ^ h >> np.uint32(11)) * np.uint32(0xAC4C1B51))
                    h = np.uint32((h ^ h >> np.uint32(15)) * np.uint32(0x31848BAB))
                    h = np.uint32(h ^ h >> np.uint32(14))
                    found[x] += np.uint32(np.uint32(h - low) <= reach)
            for x in range(items.size):
                counts[start + x] += found[x]


# Interpolation.


def evaluate_cubics(x: Vector, cells: Vector, origin: float, scale: float, within: bool, found: Vector) -> None:  # noqa: ARG001
    _evaluate_cubics(_read_only(x), cells, origin, scale, found)


@_compiled
def _evaluate_cubics(x, cells, origin, scale, found):
    last = cells.shape[1] - 1
    for i in range(x.size):
        place = min(max((x[i] - origin) * scale, 0.0), float(last))
        cell = np.int64(place)
        t = place - cell
        found[i] = ((cells[3, cell] * t + cells[2, cell]) * t + cells[1, cell]) * t + cells[0, cell]
