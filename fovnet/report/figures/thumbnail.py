"""A volume as a thumbnail: its view from the front, and beside it a bar with the spans in their colours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fovnet.drawing.raster import jpeg
from fovnet.evaluate.cases import StoredSpan
from fovnet.records import replace_with
from fovnet.regions import Vocabulary
from fovnet.report.figures.spans import extent_mm, lanes_of
from fovnet.report.figures.views import coronal_view, on_even_heights

SIDE = 128
"""Longest side of the view in pixels: twice as many as are shown, for fine screens.  One takes 2 to 5 kB."""
SHORTEST = 40
"""Shortest side: a few axial slices true to scale would be a line."""
BAR, GAP = 9, 3
"""Width of a lane of spans, and what separates it from the view."""
DASH = 5
"""Length of the dashes of a span that is unsure: it differs from a sure one by more than its colour."""

Bytes = NDArray[np.uint8]


def thumbnail(
    pixels: Bytes,
    z_mm: NDArray[np.float64],
    side_mm: float,
    spans: Sequence[StoredSpan],
    unsure: Collection[str],
    vocabulary: Vocabulary,
) -> Bytes:
    """The picture (h, w, 3) uint8 of a volume (s, 128, 128), head up, the patient's right on the left.

    unsure  regions whose spans are dashed
    """
    low, high = extent_mm(z_mm, spans)
    scale = SIDE / max(high - low, side_mm)
    tall, wide = (max(round(mm * scale), SHORTEST) for mm in (high - low, side_mm))
    view = Image.fromarray(on_even_heights(coronal_view(pixels), z_mm, low, high)[::-1])
    grey = np.asarray(view.resize((wide, tall), Image.Resampling.BILINEAR))
    lanes, count = lanes_of(spans, vocabulary)
    drawn = np.zeros((tall, wide + count * (GAP + BAR), 3), dtype=np.uint8)
    drawn[:, :wide] = grey[:, :, None]
    for span, lane in zip(spans, lanes, strict=True):
        top, bottom = (
            round(tall * (high - mm) / (high - low)) for mm in (span.to_mm, span.from_mm)
        )
        rows = np.arange(top, max(bottom - 1, top + 1))
        rows = rows[(rows - top) // DASH % 2 == 0] if span.region in unsure else rows
        left = wide + GAP + lane * (GAP + BAR)
        drawn[rows[rows < tall], left : left + BAR] = list(
            bytes.fromhex(vocabulary.colour(span.region)[1:])
        )
    return drawn


def save_thumbnail(path: Path, picture: Bytes) -> Path:
    """Writes the picture as JPEG with fovnet's stamp, atomically; returns `path`.

    Colours are not subsampled: the bar is narrow.
    """
    content = jpeg(picture, comment=b"fovnet", subsampling=0)
    return replace_with(path, lambda file: file.write(content))
