"""Python on a page is run, and what it prints is compared with the text block below it, if there is one.

Words and figures must be the same, with one exception: a block that draws secure noise, or uses what an earlier block
made with it, prints other figures every time, and only its words are compared. `Noisy` decides that block by block. A
line `...` stands for the rest.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re

from sybil.evaluators.python import PythonEvaluator

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d*)?(?:e[+-]\d+)?")
HTML_TAG = re.compile(r"</?\w+>")  # where the code can be folded away
_PRINTED, _NOISY = "__printed__", "__noisy__"
_DRAWS = {"privatize", "privatize_indices", "report", "send", "simulate", "discover", "survey", "frequencies"}
_run = PythonEvaluator()


class Noisy:
    """Which names on a page depend on secure noise, from the calls that draw it: those in `_DRAWS` without a seed."""

    def __init__(self):
        self.names = set()

    def block(self, source):
        """Whether a block prints what depends on secure noise. Its names are remembered for the blocks below."""
        return any([self._statement(one) for one in ast.parse(source).body])  # noqa: C419 (all of them)

    def _statement(self, statement):
        inside = list(ast.walk(statement))
        calls = [node for node in inside if isinstance(node, ast.Call)]
        noisy = any(self._draws(call) for call in calls) or any(
            isinstance(node, ast.Name) and node.id in self.names for node in inside
        )
        if noisy:
            self.names |= {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            if isinstance(statement, ast.FunctionDef):
                self.names.add(statement.name)
            # `kept.add(noisy)`: what kept holds is noisy now.
            outermost = getattr(statement.value, "func", None) if isinstance(statement, ast.Expr) else None
            if isinstance(outermost, ast.Attribute) and isinstance(outermost.value, ast.Name):
                self.names |= {outermost.value.id} if outermost.attr not in _DRAWS else set()
        return noisy

    def _draws(self, call):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        return name in _DRAWS and not any(one.arg == "seed" for one in call.keywords)


def run(example):
    """Run a Python block, and keep what it prints for the block that follows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _run(example)
    noisy = example.namespace.setdefault(_NOISY, Noisy()).block(example.parsed)
    example.namespace[_PRINTED] = (example.region.end, printed.getvalue(), noisy)


def compare(example):
    """Compare a text block with what the Python block just above it printed."""
    end, printed, noisy = example.namespace.get(_PRINTED, (0, "", False))
    if HTML_TAG.sub("", example.document.text[end : example.region.start]).strip():
        return  # other words stand between the two: the text is not the output
    assert_shown(printed, example.parsed, figures=not noisy)


def assert_shown(printed, shown, figures=True):
    """Fail unless the page shows what was printed."""
    lines = shown.strip("\n").split("\n")
    if "..." in lines:
        lines = lines[: lines.index("...")]
        printed = "\n".join(printed.split("\n")[: len(lines)])
    words, numbers = _parts(printed)
    expected_words, expected_numbers = _parts("\n".join(lines))
    what_to_do = f"run docs/generate_shown.py, because this was printed:\n{printed}"
    assert words == expected_words, f"the page shows other words; {what_to_do}"
    if figures:
        assert numbers == expected_numbers, f"other figures; {what_to_do}"


def _parts(text):
    numbers = [float(found.replace(",", "")) for found in NUMBER.findall(text)]
    words = re.sub(r"\s+", " ", NUMBER.sub("#", text)).replace(" ]", "]").replace("[ ", "[")
    return words.strip(), numbers
