"""The whole body of one person: its anatomy as an ordered list of paints, its label volume on any
grid, and its landmarks."""

from __future__ import annotations

from collections.abc import Sequence
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
from fovnet.phantom.features import ANATOMY
from fovnet.phantom.geometry.edge_bend import BentPoints, EdgeBend
from fovnet.phantom.geometry.raster import (
    Grid,
    Pieces,
    PointMapping,
    cut_into_pieces,
    rasterise,
)
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import LabelVolume
from fovnet.regions import DEFAULT, NINE

ABOVE_TALUS_MM = 30.0  # of the person: a distance that is measured in the picture


@dataclass(frozen=True)
class Landmarks:
    """Heights above the soles, in mm of the person, from which regions and fields of view are
    measured.

    The borders between regions are `ischium` (lower end), `iliac_crest`, `liver_dome` and
    `lung_apex` (tops); `sole` and `vertex` end the body.  Those between the parts of a region are
    `ankle_top`, 3 cm above the talus, `tuberosity` (lower end, of the tibia), `patella` (upper end)
    and `foramen_magnum`.  The others only limit fields of view.
    """

    sole: float
    ankle: float
    ankle_top: float
    tuberosity: float
    knee: float
    patella: float
    ischium: float
    iliac_crest: float
    liver_dome: float
    lung_apex: float
    chin: float
    foramen_magnum: float
    vertex: float

    @property
    def borders_mm(self) -> tuple[float, ...]:
        """The heights that begin and end the regions of DEFAULT's chain, feet to head: one more
        than there are regions."""
        return (*self.find_lower_ends_mm(DEFAULT.chain), self.vertex)

    def find_lower_ends_mm(self, regions: Sequence[str]) -> tuple[float, ...]:
        """The heights at which these regions of DEFAULT's or NINE's chain begin."""
        legs_mm = (self.sole, self.ankle_top, self.tuberosity, self.patella)
        trunk_mm = (self.ischium, self.iliac_crest, self.liver_dome)
        head_mm = (self.lung_apex, self.foramen_magnum)
        lower_end_by_region = {
            **dict(zip(DEFAULT.chain, (self.sole, *trunk_mm, self.lung_apex), strict=True)),
            **dict(zip(NINE.chain, (*legs_mm, *trunk_mm, *head_mm), strict=True)),
        }
        return tuple(lower_end_by_region[region] for region in regions)


def landmarks(person: Person) -> Landmarks:
    """The heights of a person's landmarks; the painted organs and bones end exactly there."""
    to_person_mm = person.morph.height_mm
    return Landmarks(
        sole=to_person_mm(0.0),
        ankle=to_person_mm(80.0),
        ankle_top=to_person_mm(limbs.TALAR_DOME_MM) + ABOVE_TALUS_MM,
        tuberosity=to_person_mm(limbs.TUBEROSITY_MM),
        knee=to_person_mm(480.0),
        patella=to_person_mm(limbs.PATELLA_MM),
        ischium=to_person_mm(trunk.ISCHIUM_MM),
        iliac_crest=to_person_mm(trunk.ILIAC_CREST_MM + person.borders.iliac_crest_rise_mm),
        liver_dome=to_person_mm(belly.liver_dome_height_mm(person)),
        lung_apex=to_person_mm(thorax.lung_apex_height_mm(person)),
        chin=to_person_mm(1520.0),
        foramen_magnum=to_person_mm(head.FORAMEN_MAGNUM_MM),
        vertex=to_person_mm(head.VERTEX_MM),
    )


def paint_body(person: Person, without: frozenset[str] = frozenset()) -> Paints:
    """The paints of the whole body without the arms, in mm of the written anatomy.

    `without` names the features to leave out, of those in `features.ANATOMY`.
    """
    with_small_parts = "joints and organs" not in without
    yield from trunk.paint_trunk_wall(person)
    yield from skin_folds.paint_skin_rolls(person)
    yield from limbs.paint_legs(person)
    yield from head.paint_head(person, with_small_parts)
    yield from thorax.paint_lungs(person)
    yield from thorax.paint_mediastinum(person)
    yield from belly.paint_cavity(person, with_small_parts)
    yield from belly.paint_upper_organs(person, with_small_parts)
    yield from belly.paint_colon(person)
    yield from belly.paint_small_bowel(person, with_small_parts)
    yield from belly.paint_pelvic_organs(person)
    yield from thorax.paint_great_vessels(person)
    yield from trunk.paint_spine(person)
    yield from trunk.paint_thoracic_cage(person, with_small_parts)
    yield from trunk.paint_pelvis(person, with_small_parts)
    if with_small_parts:
        for paint_parts in SMALL_PART_PAINTERS:
            yield from paint_parts(person)
    yield from flat_muscles.paint_wall_gaps(person)
    if "tissue structure" not in without:
        yield from texture.paint_tissue_structure(person, with_small_parts)
    if "lesions" not in without:
        yield from lesions.paint_lesions(person)
    yield from leg_masses.paint_leg_mass(person)


SMALL_PART_PAINTERS = (
    knee.paint_knees,
    lesser_pelvis.paint_lesser_pelvis,
    heart.paint_heart_details,
    back.paint_back,
    vertebrae.paint_spine_details,
    lung_bases.paint_lung_recesses,
    shoulder.paint_shoulders,
    thorax.paint_intercostal_muscles,
    vessel_trees.paint_vessel_trees,
    stomach.paint_stomach_content,
)
"""What the feature "joints and organs" adds, in the order of painting."""


def label_volume(
    person: Person,
    grid: Grid,
    without: frozenset[str] = frozenset(),
    edge_bend: EdgeBend | None = None,
) -> LabelVolume:
    """The body of a person on a grid: at every voxel a label, an index into `tissues.TISSUES`.

    Millimetres of the grid count from the middle of the trunk and from the soles.  `without` names
    the features to leave out.  Only those of `features.ANATOMY` matter here; those of the person
    are left out when it is sampled.  With `edge_bend`, as bent gradients show it.
    """
    pieces = _body_pieces(person, without.intersection(ANATOMY))
    mapping: PointMapping = person.morph
    if edge_bend is not None:
        mapping = BentPoints(person.morph, edge_bend)
    return LabelVolume(rasterise(pieces, grid, mapping), grid.vox_to_ras)


@lru_cache(maxsize=2)
def _body_pieces(person: Person, without: frozenset[str]) -> Pieces:
    """The whole body with arms, cached: a person is mostly scanned several times in a row, and
    building takes a fifth of a second."""
    return cut_into_pieces(
        [
            *limbs.paint_arms(person, "joints and organs" not in without),
            *paint_body(person, without),
        ]
    )
