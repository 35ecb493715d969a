"""Where the tests find the repository and, beside it, data that it does not need."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
VECTORS = ROOT / "vectors" / "v1"
SHARED = ROOT.parent / "shared" / "data"
