"""Sphinx configuration: Markdown pages, API from the docstrings, warnings are errors (`make docs`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "localdp"
copyright = "the localdp authors"  # noqa: A001 (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "localdp"
html_static_path = ["_static"]
html_css_files = ["tables.css", "pictures.css"]
smartquotes_action = "qe"  # quotes and ellipses; not dashes, for --option is none
exclude_patterns = ["_build", "play"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}  # of NumPy: what it stands for fills three lines
default_role = "literal"  # `so` is code in docstrings, as in Markdown


def setup(app):
    """Add the page to play with, which is no page of Sphinx: its own files, the client and its plans."""
    from generate_play import build

    app.connect("build-finished", lambda app, error: None if error else build(Path(app.outdir) / "play"))
