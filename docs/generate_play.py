"""Put the page to play with into a folder: `python docs/generate_play.py FOLDER`. `make docs` does it, too.

The page is plain JavaScript in docs/play. Two files are added when it is built: the client as collectors serve it,
which is in the repository, so that no Node is needed; and the plans at the stops of the slider, as the library writes
them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import localdp as ldp

DOCS = Path(__file__).parent
BUNDLES = DOCS.parent / "src" / "localdp" / "collector" / "javascript"
ANSWERS = ("Train", "Bicycle", "Car", "Bus", "On foot", "Boat")  # as in docs/play/survey.js
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)


def build(folder: Path) -> None:
    """Write the page into the folder; a page that is there already is replaced."""
    shutil.copytree(DOCS / "play", folder, dirs_exist_ok=True)
    shutil.copyfile(BUNDLES / f"localdp-{ldp.__version__}.js", folder / "localdp.js")
    plans = [ldp.Plan(list(ANSWERS), "grr", epsilon).to_json() for epsilon in EPSILONS]
    (folder / "plans.js").write_text(f"export const PLANS = {json.dumps(plans, indent=1)};\n", "utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
