"""The picture of confusion matrices: every word and every count is readable."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fovnet.report.content.confusions import ConfusionMatrix, ConfusionView
from fovnet.report.figures.charts import confusion_figure

REGIONS = ("legs", "pelvis", "abdomen", "chest", "head", "spine", "none")
PARTS = ("lower legs", "thighs", "hips", *REGIONS[1:], "neck", "forearms")


@pytest.mark.parametrize(("classes", "count"), [(REGIONS, 9_999), (PARTS, 99_999)])
def test_counts_stay_in_their_cells_and_names_in_the_picture(
    classes: tuple[str, ...], count: int
) -> None:
    counts = np.full((len(classes), len(classes)), count)
    matrices = tuple(ConfusionMatrix(name, "1 % wrong", counts) for name in ("a", "b", "c"))
    figure = confusion_figure(ConfusionView(classes, matrices))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for axis in figure.axes:
        cell_width = axis.get_window_extent().width / len(classes)
        widths = [text.get_window_extent(canvas.get_renderer()).width for text in axis.texts]
        assert max(widths) < cell_width
    outermost = figure.get_tightbbox(canvas.get_renderer())
    assert outermost.x0 > 0 and outermost.x1 < figure.get_figwidth()
