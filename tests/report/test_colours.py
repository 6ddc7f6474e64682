"""Colours that every reader can tell apart, and words that every reader can read."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fovnet.drawing import canvas
from fovnet.drawing.canvas import contrast, luminance, readable_on
from fovnet.regions import BUILT_IN, DEFAULT
from fovnet.report import pages

# Machado, Oliveira & Fernandes, IEEE TVCG 15 (2009) 1291-1298: what a reader without one kind of cone sees,
# on linear RGB.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def lab(colour, cones):
    """CIELAB under D65 of "#rrggbb" as seen with these cones."""
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = cones @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x, y, z = np.cbrt(
        np.maximum(to_xyz @ np.clip(linear, 0, 1) / [0.95047, 1.0, 1.08883], 0.008856)
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, cones):
    """ΔE*ab (1976); about 2.3 is the smallest that is noticed side by side."""
    return float(np.linalg.norm(lab(one, cones) - lab(other, cones)))


@pytest.mark.parametrize("vocabulary", BUILT_IN.values(), ids=BUILT_IN)
@pytest.mark.parametrize("cones", SEEN.values(), ids=SEEN)
def test_regions_are_told_apart_with_any_cones(cones, vocabulary):
    least = min(
        (distance(vocabulary.colour(a), vocabulary.colour(b), cones), a, b)
        for a, b in combinations(vocabulary.classes, 2)
    )
    assert least[0] > 15, least


def test_red_and_green_of_one_lightness_are_found_to_be_alike():
    """The measure can fail: a classic pair."""
    assert (
        distance("#c0504d", "#7f7f3a", SEEN["deuteranopia"])
        < 25
        < distance("#c0504d", "#7f7f3a", SEEN["all cones"])
    )


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21) and luminance(
        "#ffffff"
    ) == pytest.approx(1)
    # WCAG's best-known near miss
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_names_on_coloured_spans_can_be_read():
    assert all(
        contrast(DEFAULT.colour(name), readable_on(DEFAULT.colour(name))) >= 3.8
        for name in DEFAULT.classes
    )


def test_every_ink_of_the_pages_stands_out_from_every_paper():
    """In the light colours and, where the system asks for them, in the dark ones."""
    css = (Path(pages.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    parts = css.split("prefers-color-scheme: dark", 1)
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in parts)
    for colours in (light, light | dark):
        assert {"ink", "soft", "accent", "warn", "tint"} <= colours.keys()
        for paper in (colours.get("paper", "#ffffff"), colours["tint"]):
            assert all(
                contrast(colours[name], paper) >= 4.5 for name in ("ink", "soft", "accent", "warn")
            )


def test_words_in_figures_stand_out_from_white():
    assert contrast(canvas.INK, "#ffffff") >= 7 and contrast(canvas.WARN, "#ffffff") >= 4.5
