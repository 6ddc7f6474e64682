"""Contents of the stomach: bright fluid, a dark gas bubble, dark food, or collapsed folds."""

from __future__ import annotations

from fovnet.phantom.anatomy.belly import liver_dome_height_mm
from fovnet.phantom.anatomy.layers import Paints, paint_detail
from fovnet.phantom.geometry.solids import HalfSpace
from fovnet.phantom.geometry.tissue_structure import Box, Sheets
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

SHARE_BY_FILLING = {"fluid": 0.4, "gas": 0.25, "food": 0.15, "folds": 0.2}
"""Shares of the contents: people are scanned fasting or not, and swallow air in both cases."""


def paint_stomach_content(person: Person) -> Paints:
    """What replaces the fluid in the stomach: gas, food or folds; nothing in a stomach that keeps
    fluid under the gas in front."""
    rng = person.generator(Stream.STOMACH_CONTENT)
    dome_z = liver_dome_height_mm(person)
    filling = rng.choice(list(SHARE_BY_FILLING), p=list(SHARE_BY_FILLING.values()))
    stomach_box = Box((-130.0, -60.0, dome_z - 190), (60.0, 110.0, dome_z + 10))
    if filling == "gas":
        # in front in a supine person, at times as far as the back of the fundus
        normal_y = 1.0 if person.is_prone else -1.0
        upper_part = HalfSpace((0.0, normal_y, 0.0), rng.uniform(-12, 30))
        yield paint_detail(stomach_box & upper_part, "gas", replaced_tissues="stomach content")
    elif filling == "food":
        yield paint_detail(stomach_box, "stool", replaced_tissues="stomach content")
    elif filling == "folds":  # rugae are 3 to 5 mm thick where the stomach is empty
        rugae_phases = tuple(rng.uniform(0, 6, 3).tolist())
        rugae = Sheets(
            stomach_box,
            wavelengths_mm=(22.0, 18.0, 26.0),
            level_width=rng.uniform(0.45, 0.8),
            phases=rugae_phases,
        )
        yield paint_detail(rugae, "bowel wall", replaced_tissues="stomach content")
