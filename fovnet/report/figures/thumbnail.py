"""A volume as a thumbnail: its view from the front, and beside it a bar with the spans in their
colours."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.raster import jpeg
from fovnet.records import replace_with
from fovnet.report.figures.body import Body, lanes_of
from fovnet.report.figures.views import coronal_view, resample_heights

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


def draw_thumbnail(body: Body, unsure_regions: Collection[str]) -> Bytes:
    """The picture (h, w, 3) uint8 of a volume, head up, the patient's right on the left.

    unsure_regions  those whose spans are dashed
    """
    from PIL import Image

    pixels_per_mm = LONGEST_SIDE / max(body.height_mm, body.side_mm)
    view_height = max(round(body.height_mm * pixels_per_mm), SHORTEST_SIDE)
    view_width = max(round(body.side_mm * pixels_per_mm), SHORTEST_SIDE)
    view = resample_heights(coronal_view(body.pixels), body.z_mm, body.low_mm, body.high_mm)
    grey_view = np.asarray(
        Image.fromarray(view[::-1]).resize((view_width, view_height), Image.Resampling.BILINEAR)
    )
    lanes = lanes_of(body.spans, body.vocabulary)
    picture_width = view_width + lanes.lane_count * (LANE_GAP + LANE_WIDTH)
    picture = np.zeros((view_height, picture_width, 3), dtype=np.uint8)
    picture[:, :view_width] = grey_view[:, :, None]
    for span, lane in zip(body.spans, lanes.lane_by_span, strict=True):
        top_row = round(view_height * (body.high_mm - span.to_mm) / body.height_mm)
        bottom_row = round(view_height * (body.high_mm - span.from_mm) / body.height_mm)
        span_rows = np.arange(top_row, max(bottom_row - 1, top_row + 1))
        if span.region in unsure_regions:
            is_dash = (span_rows - top_row) // DASH_LENGTH % 2 == 0
            span_rows = span_rows[is_dash]
        span_rows = span_rows[span_rows < view_height]
        lane_left = view_width + LANE_GAP + lane * (LANE_GAP + LANE_WIDTH)
        red_green_blue = bytes.fromhex(body.vocabulary.colour(span.region)[1:])
        picture[span_rows, lane_left : lane_left + LANE_WIDTH] = list(red_green_blue)
    return picture


def save_thumbnail(path: Path, picture: Bytes) -> Path:
    """Writes the picture as JPEG with fovnet's stamp, atomically; returns `path`.

    Colours are not subsampled: the bar is narrow.
    """
    content = jpeg(picture, comment=b"fovnet", subsampling=0)
    return replace_with(path, lambda file: file.write(content))
