"""Soft-tissue masses in a leg that are the reason for a scan; they thin the muscles around them and
bulge the skin.

They have lobules, septa, necrosis or haemorrhage in the middle, and some a rim of oedema.
"""

from __future__ import annotations

from dataclasses import replace

from fovnet.phantom.anatomy.layers import Paints, paint_detail
from fovnet.phantom.anatomy.lesions import paint_sarcoma
from fovnet.phantom.geometry.lobed import draw_lobed
from fovnet.phantom.geometry.solids import Ellipsoid
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.swelling import CORE_SHARE
from fovnet.phantom.person.traits import Person

OEDEMA_TISSUES = ("muscle", "intermuscular fat", "fat")
OEDEMA_SHARE = 0.4  # of masses: those with oedema around them


def paint_leg_mass(person: Person) -> Paints:
    """The soft-tissue mass of a person with a swelling in a leg, as it lies in the anatomy before
    the swelling stretches it, with oedema around some; nothing for other people."""
    swelling = person.morph.swelling
    if swelling is None:
        return
    rng = person.generator(Stream.SWELLING_SHAPE)
    core_mm = CORE_SHARE * swelling.radius_mm
    mass_axes = (core_mm, core_mm, 0.96 * swelling.half_length_mm)
    mass = draw_lobed(Ellipsoid(swelling.middle_mm, mass_axes), rng)
    if rng.random() < OEDEMA_SHARE:
        oedema_axes = (
            core_mm + rng.uniform(4, 12),
            core_mm + rng.uniform(4, 12),
            swelling.half_length_mm + 20.0,
        )
        oedema = draw_lobed(replace(mass.ellipsoid, half_axes_mm=oedema_axes), rng)
        yield paint_detail(oedema, "bruise", replaced_tissues=OEDEMA_TISSUES)
    yield from paint_sarcoma(mass, 2 * core_mm, rng)
