"""A volume as a thumbnail: its view from the front, and beside it a bar with the spans in their
colours."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fovnet.drawing.raster import jpeg
from fovnet.records import replace_with
from fovnet.report.figures.body import Body, lanes_of
from fovnet.report.figures.views import coronal_view, on_even_heights

LONGEST_SIDE = 128
"""Longest side of the view in pixels: twice as many as are shown, for fine screens.  One takes 2 to
5 kB."""
SHORTEST_SIDE = 40
"""Shortest side: a few axial slices true to scale would be a line."""
LANE_WIDTH = 9
"""Width of a lane of spans."""
LANE_GAP = 3
"""What separates it from the view."""
DASH_LENGTH = 5
"""Length of the dashes of a span that is unsure: it differs from a sure one by more than its
colour."""

Bytes = NDArray[np.uint8]


def thumbnail(body: Body, unsure_regions: Collection[str]) -> Bytes:
    """The picture (h, w, 3) uint8 of a volume, head up, the patient's right on the left.

    unsure_regions  those whose spans are dashed
    """
    pixels_per_mm = LONGEST_SIDE / max(body.height_mm, body.side_mm)
    view_height, view_width = (
        max(round(length_mm * pixels_per_mm), SHORTEST_SIDE)
        for length_mm in (body.height_mm, body.side_mm)
    )
    view = on_even_heights(coronal_view(body.pixels), body.z_mm, body.low_mm, body.high_mm)
    grey_view = np.asarray(
        Image.fromarray(view[::-1]).resize((view_width, view_height), Image.Resampling.BILINEAR)
    )
    lanes = lanes_of(body.spans, body.vocabulary)
    picture = np.zeros(
        (view_height, view_width + lanes.lane_count * (LANE_GAP + LANE_WIDTH), 3), dtype=np.uint8
    )
    picture[:, :view_width] = grey_view[:, :, None]
    for span, lane_index in zip(body.spans, lanes.of_span, strict=True):
        top_row, bottom_row = (
            round(view_height * (body.high_mm - length_mm) / body.height_mm)
            for length_mm in (span.to_mm, span.from_mm)
        )
        span_rows = np.arange(top_row, max(bottom_row - 1, top_row + 1))
        if span.region in unsure_regions:
            span_rows = span_rows[(span_rows - top_row) // DASH_LENGTH % 2 == 0]
        bar_left = view_width + LANE_GAP + lane_index * (LANE_GAP + LANE_WIDTH)
        colour = bytes.fromhex(body.vocabulary.colour(span.region)[1:])
        picture[span_rows[span_rows < view_height], bar_left : bar_left + LANE_WIDTH] = list(colour)
    return picture


def save_thumbnail(path: Path, picture: Bytes) -> Path:
    """Writes the picture as JPEG with fovnet's stamp, atomically; returns `path`.

    Colours are not subsampled: the bar is narrow.
    """
    content = jpeg(picture, comment=b"fovnet", subsampling=0)
    return replace_with(path, lambda file: file.write(content))
