"""The style of all figures, and their export to SVG or PNG.

Only matplotlib's object interface is used, without a global current figure, so that figures can be
drawn from several threads. The SVG of the same figure is the same text on every run: its ids are
salted with a constant, and no date is written.
"""

from __future__ import annotations

import base64
import io
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fovnet.records import replace_with

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

MISSING_GLYPH_BOX = "\N{WHITE SQUARE}"
INK, FAINT, ACCENT, WARN = "#22303c", "#8a97a3", "#0b5d8a", "#a3410b"
# for secondary text; FAINT is for lines: its contrast on white, 3:1, is too low for text
SOFT = "#5b6a77"

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "fovnet",
    "image.resample": True,
}


def house_style() -> AbstractContextManager[None]:
    """A context in which figures are drawn with STYLE; matplotlib's settings are restored
    afterwards."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def blank_figure(width_inches: float, height_inches: float) -> Figure:
    """An empty figure of this size."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches))


def filled_box(
    left: float, bottom: float, width: float, height: float, **options: Any
) -> Rectangle:
    """A rectangle, to be added to axes or to a legend; with more `options` of matplotlib."""
    from matplotlib.patches import Rectangle

    return Rectangle((left, bottom), width, height, **options)


def legend_above(axis: Any, columns: int, left: float = -0.02, **options: Any) -> None:
    """A legend in so many columns above the axes, beginning at `left` of their width; with more
    `options` of matplotlib."""
    axis.legend(loc="lower left", bbox_to_anchor=(left, 1.0), ncols=columns, **options)


def svg(figure: Figure) -> str:
    """The figure as SVG text without XML declaration, date or creator: the same figure gives the
    same text."""
    buffer = io.StringIO()
    with house_style():
        figure.savefig(
            buffer,
            format="svg",
            dpi=144,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    svg_text = buffer.getvalue()
    return svg_text[svg_text.index("<svg") :].replace(
        "'DejaVu Sans'", "'Helvetica Neue', Arial, 'DejaVu Sans'"
    )


def svg_uri(figure: Figure) -> str:
    """The figure as a data: URI, for an <img> in a page without network access."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg(figure).encode()).decode()


def png(figure: Figure, dpi: int = 150) -> bytes:
    """The figure as the bytes of a PNG file.  Characters that its font lacks, such as Chinese in a
    file name, become boxes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text
    from PIL import Image, PngImagePlugin

    for text in figure.findobj(Text):
        if isinstance(text, Text):
            text.set_text(drawable(text.get_text()))
    canvas: Any = FigureCanvasAgg(figure)
    with house_style():
        figure.set_dpi(dpi)
        canvas.draw()
    stamp = PngImagePlugin.PngInfo()
    stamp.add_text("Software", "fovnet")
    buffer = io.BytesIO()
    # RGB at level 3 is as small as RGBA at level 6, in three fifths of the time
    Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").save(
        buffer, "PNG", pnginfo=stamp, dpi=(dpi, dpi), compress_level=3
    )
    return buffer.getvalue()


def drawable(text: str) -> str:
    """The text with a box for every character without a glyph in DejaVu Sans; HTML pages use the
    reader's fonts and do not need this."""
    box_by_missing_code = {
        ord(character): MISSING_GLYPH_BOX
        for character in text
        if ord(character) not in _codes_with_glyph() and not character.isspace()
    }
    return text.translate(box_by_missing_code)


@cache
def _codes_with_glyph() -> frozenset[int]:
    """Codes of the characters in DejaVu Sans; listing them takes a millisecond."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def save_png(figure: Figure, path: Path) -> Path:
    """Writes the figure as PNG, atomically; returns `path`."""
    return replace_with(path, lambda file: file.write(png(figure)))


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", 0 black to 1 white.  WCAG 2.1, "relative luminance"."""
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    linear_channels = np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return float(linear_channels @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(colour: str, other_colour: str) -> float:
    """Contrast ratio of two colours "#rrggbb", 1 to 21.  WCAG 2.1, "contrast ratio"."""
    darker, brighter = sorted((luminance(colour), luminance(other_colour)))
    return (brighter + 0.05) / (darker + 0.05)


def readable_on(colour: str) -> str:
    """White or dark ink, whichever has the greater contrast on "#rrggbb"."""
    return max((INK, "#ffffff"), key=lambda ink: contrast(ink, colour))
