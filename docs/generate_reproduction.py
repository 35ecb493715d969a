"""Write docs/reproduction again from its results.json, without running the trials.

`python docs/generate_reproduction.py`, after a sentence or a style of the pages has changed. `make reproduce` runs the
trials as well.
"""

from __future__ import annotations

from pathlib import Path

from localdp import datasets
from localdp.experiments.output import rewrite

FOLDER = Path(__file__).parent / "reproduction"
NAMES = ("retail", "kosarak")

if __name__ == "__main__":
    rewrite(FOLDER, [datasets.load(name) for name in NAMES])
