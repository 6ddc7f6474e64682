"""Soft-tissue masses in a leg that are the reason for a scan; they thin the muscles around them and bulge the
skin.

They have lobules, septa, necrosis or haemorrhage in the middle, and some a rim of oedema.
"""

from __future__ import annotations

from dataclasses import replace

from fovnet.phantom.anatomy.layers import Paints, detail
from fovnet.phantom.anatomy.lesions import of_a_sarcoma
from fovnet.phantom.geometry.lobed import lobed
from fovnet.phantom.geometry.solids import Ellipsoid
from fovnet.phantom.person.swelling import CORE
from fovnet.phantom.person.traits import Person

WET = ("muscle", "intermuscular fat", "fat")
WET_SHARE = 0.4  # of masses: those with oedema around them


def parts(person: Person) -> Paints:
    """The mass of `person.morph.swelling`, as it lies in the anatomy before the swelling stretches it, with
    perifocal oedema around some."""
    found = person.morph.swelling
    if found is None:
        return
    rng = person.generator(98)
    core = CORE * found.radius_mm
    whole = lobed(Ellipsoid(found.middle, (core, core, 0.96 * found.half_mm)), rng)
    if rng.random() < WET_SHARE:
        semi = (core + rng.uniform(4, 12), core + rng.uniform(4, 12), found.half_mm + 20.0)
        yield detail(lobed(replace(whole.base, semi=semi), rng), "bruise", WET)
    yield from of_a_sarcoma(whole, 2 * core, rng)
