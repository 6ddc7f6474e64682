"""random, on a tree: a point drawn from the prior, given that it fits."""

from __future__ import annotations

from fovnet.search.look.tree_view import TreeChoice, TreeView
from fovnet.search.tree.moves import draw_points
from fovnet.search.tree.streams import generator


def draw_in_tree(view: TreeView) -> TreeChoice | None:
    """The first free point drawn; where none is new, one of those that may be taken up again."""
    rng = generator(view.seed, "random", view.slot)
    points = draw_points(view.ground, rng, 1).points
    if len(points):
        return TreeChoice(points[0])
    if view.stopped_rows:
        return TreeChoice(view.points[int(rng.choice(view.stopped_rows))])
    return None
