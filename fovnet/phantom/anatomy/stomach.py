"""Contents of the stomach: bright fluid, a dark gas bubble, dark food, or collapsed folds."""

from __future__ import annotations

from fovnet.phantom.anatomy.belly import written_liver_dome_mm
from fovnet.phantom.anatomy.layers import Paints, paint_detail
from fovnet.phantom.geometry.solids import HalfSpace
from fovnet.phantom.geometry.tissue_structure import Box, Sheets
from fovnet.phantom.person.traits import Person

SHARE_BY_FILLING = {"fluid": 0.4, "gas": 0.25, "food": 0.15, "folds": 0.2}
"""Shares of the contents: people are scanned fasting or not, and swallow air in both cases."""


def paint_stomach_content(person: Person) -> Paints:
    """What replaces the fluid; nothing for a stomach that keeps fluid under the gas in front."""
    rng = person.generator(904)
    dome_z = written_liver_dome_mm(person)
    filling_kind = rng.choice(list(SHARE_BY_FILLING), p=list(SHARE_BY_FILLING.values()))
    stomach_box = Box((-130.0, -60.0, dome_z - 190), (60.0, 110.0, dome_z + 10))
    if (
        filling_kind == "gas"
    ):  # in front in a supine person, at times as far as the back of the fundus
        gas_side = HalfSpace((0.0, 1.0 if person.is_prone else -1.0, 0.0), rng.uniform(-12, 30))
        yield paint_detail(stomach_box & gas_side, "gas", replaced_tissues="stomach content")
    elif filling_kind == "food":
        yield paint_detail(stomach_box, "stool", replaced_tissues="stomach content")
    elif filling_kind == "folds":  # rugae are 3 to 5 mm thick where the stomach is empty
        rugae_phase = tuple(rng.uniform(0, 6, 3).tolist())
        rugae = Sheets(stomach_box, (22.0, 18.0, 26.0), rng.uniform(0.45, 0.8), rugae_phase)
        yield paint_detail(rugae, "bowel wall", replaced_tissues="stomach content")
