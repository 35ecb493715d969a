"""Sphinx configuration: Markdown pages, API from the docstrings, warnings are errors (`make docs`)."""

project = "localdp"
copyright = "the localdp authors"  # noqa: A001 (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "localdp"
html_static_path = ["_static"]
html_css_files = ["tables.css", "pictures.css"]
smartquotes_action = "qe"  # quotes and ellipses; not dashes, for --option is none
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}  # of NumPy: what it stands for fills three lines
default_role = "literal"  # `so` is code in docstrings, as in Markdown
