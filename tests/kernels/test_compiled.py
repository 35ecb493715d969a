"""Compiled kernels against their NumPy definitions, bit for bit; and what a compiled file may contain."""

from __future__ import annotations

import ast
import base64
import importlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT

import localdp as ldp
import localdp.kernels
import localdp.kernels.compiled
from localdp.checks.independence import check_value_independence
from localdp.formats import bitstrings
from localdp.kernels import cubics, dispatch, local_hash, rare_bits
from localdp.kernels.biased_bits import biased_bits, digits_to_compare
from localdp.kernels.compiled import counting
from localdp.kernels.counting import add_histogram, count_bits, long_rows
from localdp.kernels.subsets import draw_subsets
from localdp.mechanisms import MECHANISMS
from localdp.randomness.keystream import Keystream, seeded

U = np.uint64
DEFINITIONS = sorted(path.stem for path in Path(localdp.kernels.__path__[0]).glob("*.py") if path.stem != "__init__")
ACCELERATED = {
    name: found
    for file in DEFINITIONS
    for name, found in vars(importlib.import_module(f"localdp.kernels.{file}")).items()
    if isinstance(found, dispatch.Accelerated)
}
COMPILED = sorted(Path(localdp.kernels.compiled.__path__[0]).glob("*.py"))
SEEDS = st.integers(0, 2**32)


def _both(name, *arguments):
    """What the compiled function and the definition give, or write into their arguments."""
    results = []
    for function in (dispatch.load_twin(ACCELERATED[name].twin), ACCELERATED[name].definition):
        given = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
        result = function(*given)
        assert result is not NotImplemented
        results.append(given if result is None else [result])
    return results


def _assert_same(name, *arguments):
    for one, other in zip(*_both(name, *arguments), strict=True):
        assert np.array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("name", ACCELERATED)
def test_every_compiled_kernel_takes_what_its_definition_takes(name):
    defined, made = (
        inspect.signature(f) for f in (ACCELERATED[name].definition, dispatch.load_twin(ACCELERATED[name].twin))
    )
    assert list(defined.parameters) == list(made.parameters)


@pytest.mark.parametrize("name", ACCELERATED)
def test_a_twin_has_the_name_of_its_definition_in_the_file_of_the_same_name(name):
    definition = ACCELERATED[name].definition
    assert ACCELERATED[name].twin == f"{definition.__module__.rpartition('.')[2]}.{definition.__name__}"
    twin = dispatch.load_twin(ACCELERATED[name].twin)
    assert f"{twin.__module__}.{twin.__name__}" == f"localdp.kernels.compiled.{ACCELERATED[name].twin}"


def _names(node):
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def _foreign_names(source):
    """The names used in compiled loops that come from another file of this package, also through a constant."""
    tree, foreign = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("localdp")):
            foreign |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            foreign |= {alias.asname or "localdp" for alias in node.names if alias.name.startswith("localdp")}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _names(node.value) & foreign:
            foreign |= {name for target in getattr(node, "targets", None) or [node.target] for name in _names(target)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    loops = [function for function in functions if "compiled" in map(ast.unparse, function.decorator_list)]
    return {name for loop in loops for statement in loop.body for name in _names(statement) & foreign}


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_a_compiled_loop_uses_nothing_from_another_file(path):
    """Numba keeps machine code as long as the file of the loop is the same, so it would miss a change elsewhere."""
    assert _foreign_names(path.read_text("utf-8")) == set()


def test_the_check_for_foreign_names_finds_them():
    loop = "@compiled\ndef _loop(x):\n    return x * {}\n"
    assert _foreign_names("from localdp.types import Words\n" + loop.format("Words")) == {"Words"}
    assert _foreign_names("from .jit import read_only as view\n" + loop.format("view(x)")) == {"view"}
    assert _foreign_names("import localdp.types\n" + loop.format("localdp.types.Words")) == {"localdp"}
    assert _foreign_names("from localdp.types import A\nB = A + 1\nC = B\n" + loop.format("C")) == {"C"}
    assert not _foreign_names("import numpy as np\nfrom localdp.types import A\nB = 1\n" + loop.format("np.int64(B)"))


@settings(max_examples=300)
@given(
    st.integers(1, 40),
    st.one_of(st.integers(1, 200), st.sampled_from([64, 65, 4097])),
    st.one_of(st.integers(1, 2**64 - 1), st.sampled_from([2**63, 2**62, 2**57 + 2**55, 1, 2**64 - 1])),
    st.integers(0, 9),
    SEEDS,
)
def test_biased_bits(users, bits, threshold, eager, seed):
    one, other = seeded(seed), seeded(seed)
    made = dispatch.load_twin(ACCELERATED["biased_bits"].twin)(one, users, bits, threshold, 64, eager)
    assert np.array_equal(made, biased_bits.definition(other, users, bits, threshold, 64, eager))
    assert one.drawn == other.drawn
    assert np.array_equal(one.words(3), other.words(3))


def test_many_ties_only_make_the_window_longer():
    """Coins that agree with the threshold's digits decide nothing: every word is drawn to the last digit."""
    threshold = 0x5555_5555_5555_5555
    digits = digits_to_compare(threshold, 64)
    words = np.where(digits, ~U(0), U(0)).repeat(5)
    one, other = _replayed(words.tobytes()), _replayed(words.tobytes())
    made = dispatch.load_twin(ACCELERATED["biased_bits"].twin)(one, 5, 64, threshold, 64)
    assert np.array_equal(made, biased_bits.definition(other, 5, 64, threshold, 64))
    assert one.drawn == other.drawn == 5 * digits.size


def test_what_is_not_worth_compiling_is_left_to_the_definition():
    from localdp.checks.tapes import Tapes

    assert dispatch.load_twin(ACCELERATED["biased_bits"].twin)(seeded(1), 0, 5, 3, 64) is NotImplemented
    assert dispatch.load_twin(ACCELERATED["biased_bits"].twin)(seeded(1), 5, 5, 0, 64) is NotImplemented
    assert (
        dispatch.load_twin(ACCELERATED["biased_bits"].twin)(Tapes(np.zeros(1, U), 9, 3), 1, 2, 3, 3) is NotImplemented
    )


@given(st.integers(1, 60), st.integers(1, 200), st.integers(0, 2**64 - 1), SEEDS)
def test_replace_bits(users, bits, threshold, seed):
    rng = np.random.default_rng(seed)
    words, coins = (rng.integers(0, 2**64, shape, U) for shape in ((users, -(-bits // 64)), users))
    _assert_same("replace_bits", words, rng.integers(0, bits, users), coins, threshold)


@given(st.integers(1, 40), st.integers(2, 150), st.integers(1, 60), st.integers(0, 2**64 - 1), SEEDS)
def test_draw_subsets(users, size, subset, keep, seed):
    values = np.random.default_rng(seed).integers(0, size, users)
    one, other = seeded(seed), seeded(seed)
    made = draw_subsets.definition(other, values, size, min(subset, size - 1), keep)
    with dispatch.kernels("fast"):
        assert np.array_equal(draw_subsets(one, values, size, min(subset, size - 1), keep), made)
    assert one.drawn == other.drawn


def test_a_rejected_draw_of_a_subset_is_left_to_the_definition():
    """A word of ones is past the last whole share of every number but the powers of two."""
    words = np.append(np.full(6, ~U(0)), seeded(1).words(60)).tobytes()
    one, other = _replayed(words), _replayed(words)
    values = np.array([3, 6])
    assert dispatch.load_twin(ACCELERATED["draw_subsets"].twin)(one, values, 7, 3, 2**63) is NotImplemented
    assert one.drawn == 0
    made = [f(source, values, 7, 3, 2**63) for f, source in ((draw_subsets, one), (draw_subsets.definition, other))]
    assert np.array_equal(*made)
    assert one.drawn == other.drawn > 8


@settings(max_examples=200)
@given(
    st.one_of(st.integers(0, 700), st.sampled_from([4096, 4097, 40_000])),
    st.one_of(st.integers(1, 300), st.sampled_from([1024, 16_470])),
    SEEDS,
)
def test_count_bits(users, bits, seed):
    users = min(users, (1 << 22) // bits)
    rng = np.random.default_rng(seed)
    rows = np.packbits(rng.integers(0, 2, (users, bits), np.uint8), axis=1, bitorder="little")
    _assert_same("count_bits", rows, bits)


def test_planes_are_emptied_before_they_overflow():
    """Bits that are always set need the most planes: a million rows of one byte pass through every flush."""
    rows = np.full((1 << 20, 1), 255, np.uint8)
    assert dispatch.load_twin(ACCELERATED["count_bits"].twin)(rows, 8).tolist() == [1 << 20] * 8
    counts = np.zeros(64, np.int64)
    rows = np.full(counting._FLUSH * 16 + 33, ~U(0))
    counting._count_columns(rows, 1, counts)
    assert (counts == rows.size).all()


def test_rows_may_lie_anywhere_in_memory():
    octets = np.random.default_rng(0).integers(0, 256, 50_000, np.uint8)
    for start in range(9):
        rows = octets[start : start + 7 * 7000].reshape(7000, 7)
        expected = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0)
        for function in (dispatch.load_twin(ACCELERATED["count_bits"].twin), count_bits.definition):
            assert function(rows, 56).tolist() == expected.tolist()
        assert np.shares_memory(long_rows(rows, 512)[0], octets)  # a copy takes longer than to count


@given(st.integers(0, 500), st.integers(1, 26), st.sampled_from([np.int32, np.int64]), SEEDS)
def test_add_histogram(users, bits, kind, seed):
    rng = np.random.default_rng(seed)
    cells = min(1 << bits, 5000)
    rows = bitstrings.from_integers(rng.integers(0, cells, users, U), bits)
    _assert_same("add_histogram", rows, rng.integers(0, 9, cells).astype(kind))


@pytest.mark.parametrize("function", [dispatch.load_twin(ACCELERATED["add_histogram"].twin), add_histogram.definition])
def test_an_integer_past_the_histogram_is_refused(function):
    with pytest.raises(ValueError, match="an integer past 8, the last one that is counted"):
        function(np.full((3, 8), 255, np.uint8) >> 1, np.zeros(9, np.int64))
    with pytest.raises(ValueError, match="an integer past 8, the last one that is counted"):
        function(np.array([[9]], np.uint8), np.zeros(9, np.int64))


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 6, 7, 9, 14, 15, 17])
def test_walsh_hadamard(degree):
    values = np.random.default_rng(degree).integers(-1000, 1000, 1 << degree)
    _assert_same("walsh_hadamard", values)


@given(st.integers(1, 32), st.integers(1, 32), st.integers(1, 50), SEEDS)
def test_linear_hash(degree, bits, users, seed):
    rng = np.random.default_rng(seed)
    multipliers, items = (
        rng.integers(1, 1 << degree, users, U, endpoint=degree == 1),
        rng.integers(0, 1 << degree, users, U),
    )
    _assert_same("linear_hash", multipliers, items, degree, min(bits, degree))


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 300), SEEDS)
def test_decoding(degree, bits, reports, seed):
    bits = min(bits, degree)
    rng = np.random.default_rng(seed)
    among = int(rng.integers(1, 1 << bits, endpoint=True))
    multipliers = rng.integers(1, max(2, 1 << degree), reports, U)
    symbols = rng.integers(0, 1 << bits, reports, U)
    rows = bitstrings.from_integers(multipliers | symbols << U(degree), degree + bits)
    _assert_same("collect_histogram", rows, degree, bits, among)
    _assert_same("collect_reports", multipliers, symbols, degree, bits, among)
    _assert_same("list_support", multipliers, symbols, degree, bits, among)


@settings(max_examples=50)
@given(st.sampled_from([1, 2, 3, 300, 4097]), st.sampled_from([1, 2, 17, 2049]), st.integers(2, 60), SEEDS)
def test_count_hashed(users, items, symbols, seed):
    rng = np.random.default_rng(seed)
    seeds = rng.integers(0, 2**32, users, np.uint32)
    ranges = local_hash.preimage(rng.integers(0, symbols, users, U), symbols)
    _assert_same("count_hashed", seeds, *ranges, local_hash.mixed_items(np.arange(items, dtype=np.uint32)))


@given(st.integers(1, 30), st.integers(0, 500), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.booleans(), SEEDS)
def test_evaluate_cubics(cells, size, origin, step, within, seed):
    rng = np.random.default_rng(seed)
    span = (0.0, cells - 1.0) if within else (-3.0, cells + 3.0)
    x = origin + step * rng.uniform(*span, size)
    table = rng.normal(0, 1e5, (4, cells))
    table[0, rng.integers(0, cells)] = np.nan
    made, defined = (np.zeros(size), np.zeros(size))
    dispatch.load_twin(ACCELERATED["evaluate_cubics"].twin)(x, table, origin, 1 / step, within, made)
    cubics.evaluate_cubics.definition(x, table, origin, 1 / step, within, defined)
    assert made.tobytes() == defined.tobytes()


@given(st.integers(2, 30), st.integers(0, 500), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), SEEDS)
def test_powers_in_cells(cells, size, origin, step, seed):
    x = origin + step * np.random.default_rng(seed).uniform(-3.0, cells + 3.0, size)
    made, defined = np.full((cells, 4), np.nan), np.full((cells, 4), np.nan)
    dispatch.load_twin(ACCELERATED["powers_in_cells"].twin)(x, origin, 1 / step, made)
    cubics.powers_in_cells.definition(x, origin, 1 / step, defined)
    assert made.tobytes() == defined.tobytes()


@pytest.mark.parametrize("size", [2, 63, 64, 65, 130, 1000])
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_and_counts_are_the_same_under_both(name, size):
    plan = ldp.Plan(size, name, 0.5)
    values = np.random.default_rng(size).integers(0, size, 3000)
    for users in (1, 7, 3000):
        made = []
        for choice in ("fast", "numpy"):
            with dispatch.kernels(choice):
                reports = plan.privatize(values[:users], seed=users)
                made.append((reports.rows.tobytes(), plan.aggregate(reports).counts.tolist()))
        assert made[0] == made[1]


@pytest.mark.parametrize("name", ["oue", "sue", "llh", "ss"])
def test_compiled_kernels_draw_as_much_for_every_value(name):
    with dispatch.kernels("fast"):
        check_value_independence(MECHANISMS[name])


class _Reader:
    """In place of a cipher: bytes that are given, then zeros."""

    def __init__(self, data):
        self._data, self._read = data, 0

    def update_into(self, zeros, target):
        part = self._data[self._read : self._read + len(zeros)].ljust(len(zeros), b"\0")
        target[: len(zeros)] = part
        self._read += len(zeros)
        return len(zeros)


def _replayed(data):
    source = Keystream(bytes(16))
    source._encryptor = _Reader(data)
    return source


@pytest.mark.parametrize("name", MECHANISMS)
def test_compiled_kernels_give_the_pinned_reports(name):
    for case in json.loads((ROOT / "vectors" / "v1" / f"{name}.json").read_text("utf-8"))["good"]:
        plan = ldp.Plan.from_json(case["plan"])
        source = _replayed(bytes.fromhex(case["random"]))
        with dispatch.kernels("fast"):
            rows = plan.mechanism.randomize(plan.domain.indices([case["value"]]), source)
        assert base64.b64encode(rows.tobytes()).decode() == case["report"]
        if name in ("sue", "oue") and rare_bits.jumping_pays(plan.mechanism.noise, 64):
            assert 16 * source.drawn >= len(case["random"])  # more than enough, but after a tie at the end
        else:
            assert 16 * source.drawn == len(case["random"])


def test_numba_is_known_to_one_module():
    importing = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            importing |= {path.name for name in names if name.split(".")[0] in ("numba", "llvmlite")}
    assert importing == {"jit.py"}
