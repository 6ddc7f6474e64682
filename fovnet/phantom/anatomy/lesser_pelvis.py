"""Inner structure of the lesser pelvis: what a field of view of 18 cm about the prostate or the
uterus shows.

The pelvic floor, the muscles on the walls, fat on both sides of them, and the zones of the organs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy import belly, limbs
from fovnet.phantom.anatomy.layers import (
    ERECTILE_TISSUE,
    LYMPH_NODE,
    NERVE,
    Layer,
    Paints,
    factor_of_children,
    on_both_sides,
    paint,
    paint_all,
    paint_detail,
    paint_fat_and_skin,
    paint_fat_plane,
    place_paints,
    place_solid,
    shift_sideways,
)
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Tube, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person


def paint_lesser_pelvis(person: Person) -> Paints:
    """Walls and floor, anal canal, then prostate and seminal vesicles or uterus, vagina and
    ovaries, as the person has them."""
    for paint_part in (
        _paint_pelvic_walls,
        _paint_pelvic_floor,
        _paint_perineum,
        _paint_femoral_triangle,
        _paint_gluteus_maximus_end,
        _paint_bladder,
    ):
        yield from paint_part(person)
    if person.is_female:
        yield from _paint_female_organs(person)
    else:
        yield from _paint_male_organs(person)


@on_both_sides
def _paint_pelvic_walls(person: Person) -> Paints:
    """On the right: obturator internus on the inner wall and outside the pelvis, obturator
    externus, piriformis behind, the fat in front of gluteus maximus, the sciatic nerve."""
    obturator_internus_end = tube(
        [(50, -34, 900), (78, -58, 905), (118, -40, 908)], [10.0, 8.0, 5.0], step_mm=18
    )
    obturator_externus = tube(
        [(36, 30, 868), (64, 6, 872), (104, -26, 888)], [12.0, 14.0, 8.0], step_mm=18
    )
    piriformis = tube(
        [(28, -58, 968), (70, -56, 946), (116, -32, 922)], [11.0, 13.0, 6.0], step_mm=18
    )
    muscles = (obturator_internus_end, obturator_externus, piriformis)
    yield from map(paint_fat_plane, (muscle.shrink(-1.2) for muscle in muscles))
    yield from paint_all(muscles, "muscle", Layer.SEAM)
    obturator_internus = Ellipsoid(
        (52.0, -2.0, 903.0), (11.5 * person.muscle_factor, 42.0, 34.0), (0.0, 8.0, -14.0)
    )
    yield paint(obturator_internus, "muscle", Layer.ORGAN)
    gluteal_fat_plane = Ellipsoid(
        (74.0, -66.0, 905.0), (40.0, 5.0 + 0.1 * person.fat_mm, 42.0), (0.0, 0.0, 24.0)
    )
    yield paint_fat_plane(gluteal_fat_plane)
    sciatic_nerve = tube([(52, -66, 945), (74, -62, 890), (84, -44, 830)], 5.0)
    yield paint(sciatic_nerve, NERVE, Layer.SEAM)


LEVATOR_OUTLINE = (
    (848.0, 0.0, -54.0, 15.0, 14.0, 16.0),
    (858.0, 0.0, -46.0, 18.0, 40.0, 22.0),
    (872.0, 0.0, -38.0, 26.0, 62.0, 28.0),
    (888.0, 0.0, -32.0, 33.0, 66.0, 33.0),
    (905.0, 0.0, -30.0, 43.0, 64.0, 36.0),
    (916.0, 0.0, -30.0, 49.0, 62.0, 36.0),
)
"""The outer face of levator ani, at the anal canal below and the pelvic wall above: z, centre x and
y, half width, reach to the front and to the back."""


def _paint_pelvic_floor(person: Person) -> Paints:
    """Levator ani: a thin funnel, open in front; below it the fat of the ischioanal fossae, through
    it the anal canal; the mesorectal fascia and the gluteal cleft."""
    muscle_tissues = ("muscle", "intermuscular fat")
    outer_space = Ellipsoid((0.0, -6.0, 868.0), (50.0, 52.0, 18.0))
    inner_space = Ellipsoid((0.0, -6.0, 868.0), (48.0, 50.0, 17.0))
    yield paint(outer_space, "fat", Layer.SEAM, replaced_tissues=muscle_tissues)
    yield paint(inner_space, "fat", Layer.ORGAN, replaced_tissues=("muscle", "visceral fat"))
    yield from _paint_ischioanal_fossa(person)
    funnel = Loft(LEVATOR_OUTLINE)
    space_in_funnel = funnel.shrink(3.2 * person.muscle_factor)
    urogenital_hiatus = Ellipsoid((0.0, 44.0, 880.0), (13.0, 40.0, 60.0))
    levator_ani = (funnel - space_in_funnel) - urogenital_hiatus
    yield paint(funnel, "visceral fat", Layer.ORGAN, replaced_tissues=("fat", "muscle"))
    yield paint(levator_ani, "muscle", Layer.ORGAN)
    anal_canal = tube(
        [(0, -47, 884), (0, -52, 864), (0, -62, 836), (0, -68, 822)], [14.0, 14.5, 13.0, 11.0]
    )
    yield paint(anal_canal, "muscle", Layer.CONTENT)
    yield paint(anal_canal.shrink(7.5), "mucosa", Layer.CONTENT)
    yield paint(anal_canal.shrink(11.5), "gas", Layer.CONTENT)
    mesorectum = Ellipsoid((0.0, -44.0, 934.0), (36.0, 27.0, 48.0))
    mesorectal_fascia = mesorectum - mesorectum.shrink(0.9)
    yield paint(mesorectal_fascia, "tendon", Layer.ORGAN, replaced_tissues="visceral fat")
    gluteal_cleft = Ellipsoid((0.0, -112.0, 880.0), (2.5, 34.0, 60.0))
    yield paint_detail(gluteal_cleft, "fat", replaced_tissues=muscle_tissues)


@on_both_sides
def _paint_ischioanal_fossa(person: Person) -> Paints:
    """The fat of the right ischioanal fossa, and the lower edge of obturator internus beside it."""
    fossa = Ellipsoid((33.0, -50.0, 862.0), (24.0, 33.0, 36.0), (18.0, 0.0, 12.0))
    yield paint(fossa, "fat", Layer.SEAM, replaced_tissues=("muscle", "intermuscular fat"))
    obturator_edge = Ellipsoid(
        (48.0, -2.0, 874.0), (6.0 * person.muscle_factor, 34.0, 22.0), (0.0, 26.0, -22.0)
    )
    yield paint(obturator_edge, "muscle", Layer.ORGAN, replaced_tissues=("fat", "visceral fat"))


def _paint_perineum(person: Person) -> Paints:
    """Below the pelvic floor, between the thighs: a wedge of fat, the crura on the pubic rami; in
    men the bulb of the penis with the urethra, and the penis, in women the vestibular bulbs."""
    size_factor = factor_of_children(person, 0.6)
    crus_radius_mm = 3.5 if person.is_female else 7.5
    fat_wedge = Ellipsoid((0.0, 4.0, 842.0), (11.0 + 0.2 * person.fat_mm, 74.0, 25.0))
    yield paint(fat_wedge, "fat", Layer.SEAM, replaced_tissues=("muscle", "intermuscular fat"))
    yield from _paint_crus(crus_radius_mm * size_factor)
    if person.is_female:
        yield from _paint_vestibular_bulb()
        return
    bulb_points = [(0, -18, 847), (0, -6, 845), (0, 14, 845), (0, 36, 851)]
    bulb = tube(bulb_points, np.array([7.5, 10.5, 9.5, 7.5]) * size_factor, step_mm=12)
    yield from _paint_erectile_body(bulb, muscle_mm=3.5, tunica_mm=1.0)
    membranous_urethra = tube([(0, -8, 874), (0, -4, 858), (0, 2, 848)], 6.5 * size_factor)
    yield paint(membranous_urethra, "muscle", Layer.VESSEL)
    yield paint(membranous_urethra.shrink(4.0), "mucosa", Layer.VESSEL)
    yield from _paint_penis(size_factor)


def _paint_erectile_body(body: Tube, muscle_mm: float, tunica_mm: float) -> Paints:
    """Erectile tissue in its tunica and under muscle, which extend beyond it by those distances."""
    yield paint(body.shrink(-muscle_mm), "muscle", Layer.ORGAN)
    yield paint(body.shrink(-tunica_mm), "tendon", Layer.CONTENT)
    yield paint(body, ERECTILE_TISSUE, Layer.CONTENT)


@on_both_sides
def _paint_crus(radius_mm: float) -> Paints:
    """The right crus of penis or clitoris along the ramus of the pubis, and the superficial
    transverse perineal muscle behind it."""
    crus = tube(
        [(43, -30, 844), (27, 6, 853), (9, 36, 862)], [0.75 * radius_mm, radius_mm, 0.9 * radius_mm]
    )
    yield from _paint_erectile_body(crus, muscle_mm=3.0, tunica_mm=1.2)
    transverse_muscle = tube([(4, -32, 850), (46, -38, 846)], 3.2)
    yield paint(transverse_muscle, "muscle", Layer.ORGAN)


@on_both_sides
def _paint_vestibular_bulb() -> Paints:
    """The right vestibular bulb under its muscle."""
    bulb = tube([(9, -8, 846), (9, 12, 846), (4, 26, 850)], [5.0, 4.5, 2.5])
    yield paint(bulb.shrink(-2.0), "muscle", Layer.ORGAN)
    yield paint(bulb, ERECTILE_TISSUE, Layer.CONTENT)


def _paint_penis(size_factor: float) -> Paints:
    """The two corpora cavernosa side by side in the dark tunica albuginea, the corpus spongiosum
    below them."""
    shaft_points = (
        (0.0, 36.0, 860.0),
        (0.0, 66.0, 876.0),
        (0.0, 88.0, 870.0),
        (0.0, 110.0, 850.0),
        (3.0, 116.0, 816.0),
    )
    tissues_around = (ERECTILE_TISSUE, "fat", "muscle")
    tunica_albuginea = tube(shaft_points, 10.5 * size_factor)
    yield paint(tunica_albuginea, "tendon", Layer.VESSEL, replaced_tissues=tissues_around)
    for corpus_x, below_mm, radius_mm in ((-5.0, -1.5, 4.6), (5.0, -1.5, 4.6), (0.0, 5.5, 4.0)):
        # the underside faces backwards where the shaft hangs down
        corpus_points = [
            (corpus_x + shaft_x, y - 0.7 * below_mm, z - 0.7 * below_mm)
            for shaft_x, y, z in shaft_points
        ]
        corpus = tube(corpus_points, radius_mm * size_factor)
        yield paint(
            corpus, ERECTILE_TISSUE, Layer.VESSEL, replaced_tissues=("tendon", *tissues_around)
        )


def _paint_bladder(person: Person) -> Paints:
    """The bladder and its neck, which extends downwards; the wall is thin when it is full, thick
    when it is empty or its outlet obstructed (in older men)."""
    bladder, fullness, _ = belly.draw_bladder(person)
    largest_obstruction_mm = 0.0 if person.is_female else max(0.0, person.age - 50) * 0.08
    obstruction_mm = largest_obstruction_mm * person.generator(Stream.BLADDER_WALL).uniform()
    wall_mm = float(np.clip(7.5 - 5.0 * fullness + obstruction_mm, 1.8, 8.0))
    bladder_x, _, _ = bladder.centre
    neck = tube(
        [(0.0, 4.0, 908.0), (bladder_x, 22.0, 918.0 + 12 * fullness)], [8.0, 22.0 * fullness]
    )
    lumen = bladder.shrink(wall_mm) | neck.shrink(wall_mm)
    yield paint(neck, "muscle", Layer.CONTENT, replaced_tissues="visceral fat")
    yield paint(bladder, "muscle", Layer.CONTENT, replaced_tissues="urine")
    yield paint(lumen, "urine", Layer.CONTENT, replaced_tissues="muscle")


def _paint_femoral_triangle(person: Person) -> Paints:
    """Both femoral triangles: the fat about the femoral vessels between pectineus, iliopsoas and
    sartorius, with lymph nodes; the muscles of the front of the hip."""
    node_rng = person.generator(Stream.INGUINAL_NODES)
    fat_rng = person.generator(Stream.INGUINAL_FAT)
    fat_about_vessels = Ellipsoid((76.0, 60.0, 890.0), (17.0, 15.0, 44.0), (0.0, 8.0, 0.0))
    pectineus = tube([(36, 50, 908), (70, 30, 880), (108, -2, 850)], [9.0, 11.0, 8.0], step_mm=18)
    sartorius = tube([(122, 66, 985), (112, 72, 920), (84, 64, 840)], [7.0, 8.0, 8.0], step_mm=24)
    tensor_fasciae_latae = tube(
        [(130, 44, 985), (136, 46, 920), (124, 40, 850)], [14.0, 15.0, 8.0], step_mm=24
    )
    rectus_femoris = tube(
        [(100, 52, 960), (106, 56, 900), (102, 56, 830)], [6.0, 13.0, 16.0], step_mm=24
    )
    for side in (1, -1):
        side_fat = place_solid(fat_about_vessels, side)
        yield paint(side_fat, "fat", Layer.SEAM, replaced_tissues=("muscle", "intermuscular fat"))
        for right_muscle in (pectineus, sartorius, tensor_fasciae_latae, rectus_femoris):
            muscle = place_solid(right_muscle, side)
            fat_crescent = shift_sideways(muscle, 1.8, fat_rng)
            yield paint(
                fat_crescent, "intermuscular fat", Layer.SEAM, replaced_tissues=("muscle", "fat")
            )
            yield paint(muscle, "muscle", Layer.SEAM)
        for z in node_rng.uniform(870, 930, 3).tolist():
            node = Ellipsoid((side * node_rng.uniform(64, 84), 72.0, z), (4.0, 3.0, 6.0))
            yield paint(node, LYMPH_NODE, Layer.VESSEL, replaced_tissues="fat")


@on_both_sides
def _paint_gluteus_maximus_end(person: Person) -> Paints:
    """On the right: the lower end of gluteus maximus, which continues laterally and down to the
    femur 6 cm below the ischium, and the common tendon of the hamstrings.

    The gluteal fold is 2 to 5 cm below the ischium, so the uppermost slices of a thigh still show
    buttock.
    """
    lowest_z = person.generator(Stream.GLUTEUS_MAXIMUS_END).uniform(764, 790)
    flatten = partial(limbs.flatten_leg, person)
    muscularity = 0.4 + 0.6 * person.muscle_factor
    skin_and_fat_mm = 3.5 + 0.3 * person.fat_mm  # between the muscle and the table
    points = limbs.place_leg_points(
        person, ((66, -74, 880), (88, -62, 836), (108, -52, 800), (128, -28, lowest_z))
    )
    muscle = tube(
        points,
        [radius_mm * muscularity for radius_mm in (26.0, 24.0, 16.0, 6.0)],
        step_mm=20,
    )
    fat_sleeve = muscle.shrink(-(0.8 + 0.04 * person.fat_mm))
    soft_tissues = ("muscle", "intermuscular fat", "fat")
    yield from paint_fat_and_skin(muscle, 0.9 * person.fat_mm, flatten)
    yield paint_fat_plane(flatten(fat_sleeve, skin_and_fat_mm))
    yield paint(
        flatten(muscle, skin_and_fat_mm), "muscle", Layer.SEAM, replaced_tissues=soft_tissues
    )
    hamstring_tendon = limbs.leg_tube(
        person, ((64, -58, 848), (78, -52, 815), (88, -50, 770)), [8.0, 5.5, 3.0]
    )
    yield paint(hamstring_tendon, "tendon", Layer.VESSEL, replaced_tissues=soft_tissues)


def _paint_male_organs(person: Person) -> Paints:
    """Prostate with its zones, capsule and nodules, the venous plexus in front of it, and the tissue
    beside it; fat where the prostate was removed."""
    if "prostate" in person.missing_parts:
        prostate_bed = Ellipsoid((0.0, 10.0, 890.0), (26.0, 22.0, 22.0))
        yield paint(prostate_bed, "visceral fat", Layer.VESSEL)
        return
    rng = person.generator(Stream.PROSTATE)
    # 1, and more with benign hyperplasia
    growth = 1.0 + max(0.0, person.age - 40) * 0.007 * rng.uniform(0.0, 2.0)
    size_factor = factor_of_children(person, 0.45)
    half_width_mm = 24.0 * growth**0.5 * size_factor
    half_depth_mm = 17.5 * growth**0.7 * size_factor
    half_height_mm = 18.0 * growth**0.8 * size_factor
    middle_y = -31.0 + half_depth_mm
    middle_z = 872.0 + half_height_mm
    prostate = Ellipsoid(
        (0.0, middle_y, middle_z), (half_width_mm, half_depth_mm, half_height_mm), squareness=0.15
    )
    transition_zone = Ellipsoid(
        (0.0, middle_y + 0.24 * half_depth_mm, middle_z + 0.1 * half_height_mm),
        (0.68 * half_width_mm, 0.66 * half_depth_mm, 0.8 * half_height_mm),
    )
    venous_plexus_space = Ellipsoid(
        (0.0, middle_y + half_depth_mm + 9, middle_z), (24.0, 13.0, 20.0)
    )
    plexus_phases = (person.generator(Stream.PROSTATIC_PLEXUS).uniform(0, 6), 1.0, 0.0)
    venous_plexus = Sheets(
        venous_plexus_space,
        wavelengths_mm=(17.0, 15.0, 23.0),
        level_width=0.75,
        phases=plexus_phases,
    )
    yield paint(venous_plexus, "venous blood", Layer.CONTENT, replaced_tissues="visceral fat")
    yield paint(prostate.shrink(-1.3), "muscle", Layer.VESSEL)
    yield paint(prostate, "peripheral zone", Layer.VESSEL)
    yield paint(transition_zone.shrink(-1.0), "muscle", Layer.VESSEL)
    yield paint(transition_zone, "prostate", Layer.VESSEL)
    yield from _paint_prostatic_nodules(prostate, int(3 + 9 * (growth - 1)), rng)
    anterior_stroma = Ellipsoid(
        (0.0, middle_y + 0.85 * half_depth_mm, middle_z + 2),
        (0.5 * half_width_mm, 0.3 * half_depth_mm, 0.8 * half_height_mm),
    )
    urethra_points = [
        (0, middle_y + 2, middle_z + half_height_mm),
        (0, middle_y - 1, middle_z),
        (0, middle_y + 6, middle_z - half_height_mm),
    ]
    yield paint(anterior_stroma, "muscle", Layer.VESSEL)
    yield paint(tube(urethra_points, 2.2), "peripheral zone", Layer.VESSEL)
    for side in (1, -1):
        yield from place_paints(_paint_periprostatic_tissue(prostate, rng), side)


def _paint_prostatic_nodules(
    prostate: Ellipsoid, nodule_count: int, rng: np.random.Generator
) -> Paints:
    """Nodules of 6 to 14 mm in the transition zone, each with a dark capsule, bright, dark or as
    the zone."""
    _, middle_y, middle_z = prostate.centre
    half_width_mm, half_depth_mm, half_height_mm = prostate.half_axes_mm
    zone_middle = np.array([0.0, middle_y + 0.2 * half_depth_mm, middle_z])
    zone_size = (half_width_mm, 0.7 * half_depth_mm, half_height_mm)
    for _ in range(nodule_count):
        nodule_centre = zone_middle + rng.uniform(-0.5, 0.5, 3) * zone_size
        tissue = rng.choice(["peripheral zone", "muscle", "prostate"])
        nodule = Ellipsoid(tuple(nodule_centre.tolist()), (rng.uniform(3, 7),) * 3)
        capsule = nodule.shrink(-0.8)
        yield paint(capsule, "muscle", Layer.VESSEL, replaced_tissues="prostate")
        yield paint(nodule, tissue, Layer.VESSEL, replaced_tissues=("prostate", "muscle"))


def _paint_periprostatic_tissue(prostate: Ellipsoid, rng: np.random.Generator) -> Paints:
    """The right neurovascular bundle beside the prostate, the right seminal vesicle above it, and
    the right spermatic cord."""
    _, middle_y, middle_z = prostate.centre
    half_width_mm, half_depth_mm, half_height_mm = prostate.half_axes_mm
    neurovascular_bundles = (
        Ellipsoid(
            (0.85 * half_width_mm + 4, middle_y - 0.6 * half_depth_mm, middle_z + offset_z),
            (3.0, 2.4, 3.6),
        )
        for offset_z in (-8.0, 0.0, 8.0)
    )
    yield from paint_all(neurovascular_bundles, "venous blood", Layer.VESSEL)
    seminal_vesicle = Ellipsoid(
        (22.0, middle_y - 8.0, middle_z + half_height_mm + 9.0),
        (22.0, 6.5, 8.0),
        (0.0, -16.0, -18.0),
    )
    vesicle_folds = Sheets(
        seminal_vesicle,
        wavelengths_mm=(15.0, 15.0, 15.0),
        level_width=0.35,
        phases=(rng.uniform(0, 6), 1.0, 2.0),
    )
    yield paint(seminal_vesicle, "muscle", Layer.VESSEL)
    yield paint(seminal_vesicle.shrink(1.0), "gonad", Layer.VESSEL)
    yield paint(vesicle_folds, "muscle", Layer.VESSEL, replaced_tissues="gonad")
    spermatic_cord = tube([(18, 84, 850), (28, 82, 885), (52, 74, 920)], [8.0, 7.0, 6.0])
    yield paint(spermatic_cord, "muscle", Layer.SEAM, replaced_tissues="fat")
    yield paint(spermatic_cord.shrink(1.6), "fat", Layer.SEAM, replaced_tissues="muscle")
    yield paint(spermatic_cord.shrink(4.5), "venous blood", Layer.VESSEL, replaced_tissues="fat")


def _paint_female_organs(person: Person) -> Paints:
    """Urethra, vagina, and the inner structure of uterus and ovaries; fat where the uterus was
    removed."""
    urethra_points = [(0, 20, 894), (0, 22, 872), (0, 26, 856)]
    urethra_wall = tube(urethra_points, [6.5, 6.0, 5.0])
    urethra_lumen = tube(urethra_points, 2.6)
    yield paint(urethra_wall, "muscle", Layer.VESSEL)
    yield paint(urethra_lumen, "peripheral zone", Layer.VESSEL)  # as bright as this tissue
    # the vagina is flat, an H in the axial plane; its wall is what is left of a larger solid
    for tissue, added_mm in (("muscle", 1.8), ("mucosa", 0.0)):
        for x, half_width_mm in ((-9.0, 7.0), (0.0, 9.0), (9.0, 7.0)):
            part_of_vagina = Ellipsoid(
                (x, -10.0 - 0.3 * abs(x), 884.0), (half_width_mm + added_mm, 4.0 + added_mm, 32.0)
            )
            yield paint(part_of_vagina, tissue, Layer.VESSEL)
    if "uterus" in person.missing_parts:
        uterus_space = Ellipsoid((0.0, -10.0, 958.0), (40.0, 34.0, 42.0))
        yield paint(
            uterus_space,
            "visceral fat",
            Layer.VESSEL,
            replaced_tissues=("myometrium", "endometrium"),
        )
        return
    yield from _paint_uterine_zones(person)
    yield from _paint_fibroids_and_follicles(person)


def _paint_fibroids_and_follicles(person: Person) -> Paints:
    """Up to three fibroids in a uterus from 35 years on, and follicles in the ovaries up to 52."""
    rng = person.generator(Stream.FIBROIDS)
    fibroid_count = rng.integers(0, 4) if person.age > 35 else 0
    for _ in range(fibroid_count):
        radius_mm = rng.uniform(5, 20)
        centre = tuple(rng.uniform((-24, -26, 940), (24, 8, 980)).tolist())
        fibroid = Ellipsoid(centre, (radius_mm, 0.9 * radius_mm, radius_mm))
        yield paint(
            fibroid, "muscle", Layer.VESSEL, replaced_tissues=("myometrium", "visceral fat")
        )
    if person.age >= 52:
        return
    for ovary_x in (46.0, -46.0):
        for _ in range(5):
            offset_x, offset_y, offset_z = rng.uniform(-1, 1, 3) * (10.0, 6.0, 12.0)
            centre = (ovary_x + offset_x, -8.0 + offset_y, 962.0 + offset_z)
            follicle = Ellipsoid(centre, (rng.uniform(2, 5),) * 3)  # of watery fluid
            yield paint(follicle, "urine", Layer.VESSEL, replaced_tissues="gonad")


def _paint_uterine_zones(person: Person) -> Paints:
    """The dark junctional zone around the endometrium, which thins with age, and the dark ring
    around the cervical canal."""
    rng = belly.draw_bladder(person).later_rng  # draws the same uterus as in `belly`
    size_factor = rng.uniform(0.8, 1.15)
    lean_deg = rng.uniform(-8, 12)
    half_thickness_mm = 1.5
    if 13 <= person.age <= 52:
        half_thickness_mm = person.generator(Stream.UTERINE_ZONES).uniform(2.5, 5.5)
    endometrium = Ellipsoid(
        (lean_deg / 2, -8.0, 960.0),
        (11 * size_factor, half_thickness_mm, 20 * size_factor),
        (-38.0, lean_deg, 0.0),
    )
    cervix = tube([(0, -18, 936), (0, -22, 916), (0, -16, 892)], [7.5, 8.0, 7.5])
    yield paint(
        endometrium.shrink(-3.5),
        "muscle",
        Layer.VESSEL,
        replaced_tissues=("myometrium", "endometrium"),
    )
    yield paint(endometrium, "endometrium", Layer.VESSEL)
    yield paint(cervix.shrink(-3.5), "myometrium", Layer.VESSEL)
    yield paint(cervix, "muscle", Layer.VESSEL)
    yield paint(cervix.shrink(5.0), "mucosa", Layer.VESSEL)
