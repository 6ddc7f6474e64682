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
from fovnet.phantom.geometry.raster import Grid, Paint, Pieces, pieces_of, rasterise
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
        return (self.sole, self.ischium, self.iliac_crest, self.liver_dome, self.lung_apex, self.vertex)


def landmarks(person: Person) -> Landmarks:
    """The person's landmarks; the painted anatomy ends exactly there."""
    written = (
        0.0, 80.0, 480.0, trunk.ISCHIUM_MM, trunk.CREST_MM + person.borders.crest_mm, belly.dome_mm(person),
        thorax.apex_mm(person), 1520.0, head.VERTEX_MM,
    )
    return Landmarks(*(person.morph.height_mm(z) for z in written))


def anatomy(person: Person, without: frozenset[str] = frozenset()) -> list[Paint]:
    """The paints of the whole body without the arms, in mm of the written anatomy; `without` as for
    `label_volume`."""
    fine = "joints and organs" not in without
    plain = [
        *trunk.wall(person), *skin_folds.rolls(person), *limbs.legs(person), *head.head(person, fine),
        *thorax.lungs(person), *thorax.mediastinum(person), *belly.space(person, fine),
        *belly.upper_organs(person, fine), *belly.colon(person), *belly.small_bowel(person, fine),
        *belly.pelvic_organs(person), *thorax.great_vessels(person), *trunk.spine(person),
        *trunk.ribs(person, fine), *trunk.pelvis(person, fine),
    ]
    parts = (
        [
            *knee.knees(person), *lesser_pelvis.parts(person), *heart.parts(person), *back.parts(person),
            *vertebrae.parts(person), *lung_bases.parts(person), *shoulder.parts(person),
            *thorax.between_ribs(person), *vessel_trees.parts(person), *stomach.parts(person),
        ]
        if fine
        else []
    )
    walls = flat_muscles.parts(person)
    grain = [] if "tissue structure" in without else texture.structure(person, fine)
    return (
        plain
        + parts
        + walls
        + grain
        + ([] if "lesions" in without else lesions.lesions(person))
        + leg_masses.parts(person)
    )


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
    return pieces_of([*limbs.arms(person, "joints and organs" not in without), *anatomy(person, without)])
