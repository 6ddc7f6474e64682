"""The whole body of one person: its anatomy as an ordered list of paints, its label volume on any grid, and
its landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fovnet.phantom.anatomy import (
    back,
    belly,
    flat_muscles,
    head,
    heart,
    knee,
    leg_masses,
    lesions,
    lesser_pelvis,
    limbs,
    lung_bases,
    shoulder,
    skin_folds,
    stomach,
    texture,
    thorax,
    trunk,
    vertebrae,
    vessel_trees,
)
from fovnet.phantom.anatomy.layers import Paints
from fovnet.phantom.geometry.raster import Grid, Pieces, pieces_of, rasterise
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import LabelVolume


@dataclass(frozen=True)
class Landmarks:
    """Heights above the soles, in mm of the person, from which regions and fields of view are measured.

    The borders between regions are `ischium` (lower end), `iliac_crest`, `liver_dome` and `lung_apex` (tops);
    `sole` and `vertex` end the body.  The others only limit fields of view.
    """

    sole: float
    ankle: float
    knee: float
    ischium: float
    iliac_crest: float
    liver_dome: float
    lung_apex: float
    chin: float
    vertex: float

    @property
    def borders_mm(self) -> tuple[float, ...]:
        """The heights that begin and end the regions of the chain, feet to head: one more than there are
        regions."""
        return (
            self.sole,
            self.ischium,
            self.iliac_crest,
            self.liver_dome,
            self.lung_apex,
            self.vertex,
        )


def landmarks(person: Person) -> Landmarks:
    """The person's landmarks; the painted anatomy ends exactly there."""
    written = (
        0.0,
        80.0,
        480.0,
        trunk.ISCHIUM_MM,
        trunk.CREST_MM + person.borders.crest_mm,
        belly.dome_mm(person),
        thorax.apex_mm(person),
        1520.0,
        head.VERTEX_MM,
    )
    return Landmarks(*(person.morph.height_mm(z) for z in written))


def anatomy(person: Person, without: frozenset[str] = frozenset()) -> Paints:
    """The paints of the whole body without the arms, in mm of the written anatomy; `without` as for
    `label_volume`."""
    fine = "joints and organs" not in without
    yield from trunk.wall(person)
    yield from skin_folds.rolls(person)
    yield from limbs.legs(person)
    yield from head.head(person, fine)
    yield from thorax.lungs(person)
    yield from thorax.mediastinum(person)
    yield from belly.space(person, fine)
    yield from belly.upper_organs(person, fine)
    yield from belly.colon(person)
    yield from belly.small_bowel(person, fine)
    yield from belly.pelvic_organs(person)
    yield from thorax.great_vessels(person)
    yield from trunk.spine(person)
    yield from trunk.ribs(person, fine)
    yield from trunk.pelvis(person, fine)
    for parts in PARTS if fine else ():
        yield from parts(person)
    yield from flat_muscles.parts(person)
    if "tissue structure" not in without:
        yield from texture.structure(person, fine)
    if "lesions" not in without:
        yield from lesions.lesions(person)
    yield from leg_masses.parts(person)


PARTS = (
    knee.knees,
    lesser_pelvis.parts,
    heart.parts,
    back.parts,
    vertebrae.parts,
    lung_bases.parts,
    shoulder.parts,
    thorax.between_ribs,
    vessel_trees.parts,
    stomach.parts,
)
"""What "joints and organs" adds."""


def label_volume(person: Person, grid: Grid, without: frozenset[str] = frozenset()) -> LabelVolume:
    """Labels of `tissues.TISSUES` on the grid, whose millimetres count from the middle of the trunk and from
    the soles.

    `without` names features of `features.ANATOMY` to leave out; those of the person are left out when it is
    sampled.
    """
    return LabelVolume(rasterise(_pieces(person, without), grid, person.morph), grid.vox_to_ras)


@lru_cache(maxsize=2)
def _pieces(person: Person, without: frozenset[str]) -> Pieces:
    """The whole body with arms, cached: a person is mostly scanned several times in a row, and building takes
    a fifth of a second."""
    return pieces_of(
        [*limbs.arms(person, "joints and organs" not in without), *anatomy(person, without)]
    )
