"""Figures and axes that a notebook shows by themselves, without pyplot and its global state.

This file imports matplotlib, so it is imported only where something is drawn.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_PIXELS_PER_INCH = 96  # of a page; the picture has more, so that it is sharp


class Picture(Figure):
    """A figure that a notebook shows as a PNG image."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """The image, and the size to show it in."""
        image = io.BytesIO()
        self.savefig(image, format="png")
        width, height = (round(inches * _PIXELS_PER_INCH) for inches in self.get_size_inches())
        return image.getvalue(), {"width": width, "height": height}


class PictureAxes(Axes):
    """Axes that a notebook shows as the whole picture they belong to."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]] | None:
        drawn = self.get_figure(root=True)
        return drawn._repr_png_() if isinstance(drawn, Picture) else None
