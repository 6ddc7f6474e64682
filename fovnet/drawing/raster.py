"""Pictures as JPEG: as data: URIs, for a page without network access, and as small files beside
one.

JPEG at a quality without visible loss in 8-bit slices: a slice of 128 × 128 takes 2 to 5 kB, a
third of its PNG.
"""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

QUALITY = 72


def jpeg(pixels: NDArray[np.uint8], quality: int = QUALITY, **options: Any) -> bytes:
    """A picture (h, w) or (h, w, 3) uint8 as the bytes of a JPEG; its first row is the top.

    options  of Pillow
    """
    from PIL import Image

    buffer = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.save(buffer, "JPEG", quality=quality, optimize=True, **options)
    return buffer.getvalue()


def jpeg_uri(pixels: NDArray[np.uint8], quality: int = QUALITY) -> str:
    """A picture (h, w) uint8 as a data: URI; its first row is the top."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(pixels, quality)).decode()


def brighten(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Slices (s, h, w) scaled by a common factor of at least 1 that makes half a percent of their
    pixels white: otherwise slices at the end of a body, with an intensity window set by its middle,
    would look black."""
    white_level = max(float(np.quantile(pixels, 0.995)), 1.0)
    return np.asarray(
        np.minimum(pixels * max(255.0 / white_level, 1.0), 255.0).round(), dtype=np.uint8
    )


def contact_sheet(slices: NDArray[np.uint8], per_line: int) -> NDArray[np.uint8]:
    """Slices (s, h, w) as one picture, `per_line` in a line, in reading order; the rest of the last
    line is black."""
    slice_count, height, width = slices.shape
    line_count = math.ceil(slice_count / per_line)
    sheet = np.zeros((line_count * per_line, height, width), dtype=np.uint8)
    sheet[:slice_count] = slices
    return np.ascontiguousarray(
        sheet.reshape(line_count, per_line, height, width)
        .transpose(0, 2, 1, 3)
        .reshape(line_count * height, per_line * width)
    )
