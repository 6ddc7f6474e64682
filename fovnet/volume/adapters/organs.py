"""The region of each slice, derived from the organs segmented in it.

The limits are those of the labelling convention, each at the end of an organ:

    legs | lower end of the ischium | pelvis | top of the iliac crest | abdomen | top of the liver
    dome | chest | lung apex | head

The hip bones give the first two (lowest and highest slice), the liver the third, the lungs the
fourth (highest slice).  The rules:

1.  Up to the highest slice of an organ whose upper end is a limit, slices belong to the region below the
    limit or a lower one; slices above it belong to a higher one, *if the organ's end is in the volume*.  An
    organ cut off by the first or last slice, or touching a side of the volume within 10 mm of its end, does
    not give that second half; nor does one of a left-right pair alone, since the apex of the other lung may
    lie higher.  For the ischium the same holds from above.  Lower and middle lobes of a lung end below its
    apex: without the upper lobe of their side they are not used.
2.  If an organ was segmented (its mask exists) but the mask is empty, in a field of view wide enough to show
    it, its limit lies outside the volume: all slices are on one side of it.  A slice cannot be above *and*
    below the hips, so without hips there is no pelvis; lung or heart without liver lies above the liver dome.
3.  Slices still undecided are decided by the other organs in them (RUNG_RANGE_BY_ORGAN): brain, kidneys, sacrum, tibia.
4.  Regions never descend towards the head.
5.  If a slice is still undecided, or two rules contradict each other, the volume gets no labels at all:
    partial labels would make the rest of it `none`.

Connected components of a mask smaller than a tenth of its largest one are taken for segmentation
errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.volume.adapters.body import find_runs

# distance from its end within which an organ must not touch the sides of the volume
ORGAN_END_MM = 10.0
LEAST_COMPONENT_SHARE = 0.1  # of the largest component


@dataclass(frozen=True)
class OrganExtent:
    """The slices of an organ, in RAS order.

    first_slice        slice
    last_slice         slice, inclusive
    is_lower_end_seen  whether the lower end lies inside the volume
    is_upper_end_seen  whether the upper end does
    """

    first_slice: int
    last_slice: int
    is_lower_end_seen: bool = True
    is_upper_end_seen: bool = True


@dataclass(frozen=True)
class RegionLimit:
    """The upper limit of the region of rung `rung_below`: the highest slice of any of `organs` if
    `is_upper_end`, else the lowest.

    least_width_mm  least width of a field of view in which these organs would be seen
    """

    rung_below: int
    organs: tuple[str, ...]
    is_upper_end: bool
    least_width_mm: float


HIPS = ("hip_left", "hip_right", "hip")
# fmt: off
LUNGS = (
    "lung_left", "lung_right", "lung", "lung_upper_lobe_left", "lung_lower_lobe_left",
    "lung_upper_lobe_right", "lung_middle_lobe_right", "lung_lower_lobe_right",
)
# fmt: on
REGION_LIMITS = (
    RegionLimit(0, HIPS, False, 250.0),
    RegionLimit(1, HIPS, True, 250.0),
    RegionLimit(2, ("liver",), True, 250.0),
    RegionLimit(3, LUNGS, True, 150.0),
)
LIVER_LIMIT = 2  # index of the liver dome in REGION_LIMITS
# fmt: off
FEET_AND_SHANKS = (
    "tibia", "fibula", "patella", "tarsal", "metatarsal", "phalanges_feet",
)
# fmt: on
# fmt: off
ABDOMINAL_ORGANS = (
    "kidney_left", "kidney_right", "pancreas", "gallbladder", "adrenal_gland_left",
    "adrenal_gland_right", "duodenum", "vertebrae_L2", "vertebrae_L1", "liver",
)
# fmt: on
RUNG_RANGE_BY_ORGAN = {  # organ: lowest and highest rung at which it is ever seen
    **dict.fromkeys(FEET_AND_SHANKS, (0, 0)),
    **dict.fromkeys(("femur_left", "femur_right", "femur"), (0, 1)),
    **dict.fromkeys(("sacrum", "vertebrae_S1", "prostate"), (1, 1)),
    **dict.fromkeys(ABDOMINAL_ORGANS, (2, 2)),
    **dict.fromkeys(("heart", *LUNGS), (2, 3)),
    **dict.fromkeys((f"vertebrae_T{number}" for number in range(2, 8)), (3, 3)),
    **dict.fromkeys((f"vertebrae_C{number}" for number in range(1, 6)), (4, 4)),
    **dict.fromkeys(("brain", "skull", "face"), (4, 4)),
}

# in place of theirs in RUNG_RANGE_BY_ORGAN where the dome of the liver lies outside by rule 2
RUNG_RANGE_WITHOUT_LIVER = dict.fromkeys(("heart", *LUNGS), (3, 3))


def find_organ_extent(
    mask: NDArray[np.bool_], spacing_mm: NDArray[np.float64]
) -> OrganExtent | None:
    """The extent of an organ's mask (i, j, k) in RAS order, without small components; None for an
    empty mask."""
    component_labels, component_count = ndimage.label(mask)
    if not component_count:
        return None
    component_sizes = np.bincount(component_labels.ravel())[1:]
    is_organ = np.concatenate(
        [[False], component_sizes >= LEAST_COMPONENT_SHARE * component_sizes.max()]
    )[component_labels]
    organ_slices = np.flatnonzero(is_organ.any(axis=(0, 1)))
    first_slice = int(organ_slices[0])
    last_slice = int(organ_slices[-1])
    end_slices = max(1, round(ORGAN_END_MM / float(spacing_mm[2])))
    low_end = is_organ[:, :, first_slice : first_slice + end_slices]
    high_end = is_organ[:, :, max(0, last_slice - end_slices + 1) : last_slice + 1]
    return OrganExtent(
        first_slice,
        last_slice,
        is_lower_end_seen=first_slice > 0 and not _touches_a_side(low_end),
        is_upper_end_seen=last_slice < mask.shape[2] - 1 and not _touches_a_side(high_end),
    )


def _touches_a_side(part: NDArray[np.bool_]) -> bool:
    """Whether slices (i, j, s) of a mask reach the first or last row or column."""
    return bool(part[[0, -1]].any() or part[:, [0, -1]].any())


def find_rungs(
    organs: Mapping[str, OrganExtent | None], slices: int, width_mm: float
) -> tuple[NDArray[np.int64], str]:
    """(rung of each slice (slices,), ""), or (an empty array, the reason why the volume cannot be
    labelled): rung 0 is the lowest region of the chain.

    organs    extent of each organ that has a mask, or None for an empty mask
    width_mm  the field of view from left to right
    """
    lowest_rungs = np.zeros(slices, dtype=np.int64)
    highest_rungs = np.full(slices, len(REGION_LIMITS), dtype=np.int64)
    is_limit_absent = [_is_limit_absent(limit, organs, width_mm) for limit in REGION_LIMITS]
    for limit in REGION_LIMITS:
        _bound_by_limit(limit, _organs_of_limit(limit, organs), lowest_rungs, highest_rungs)
    _settle_rungs(lowest_rungs, highest_rungs, is_limit_absent)
    is_decided = lowest_rungs == highest_rungs
    slice_index = np.arange(slices)
    rung_range_by_organ = RUNG_RANGE_BY_ORGAN
    if is_limit_absent[LIVER_LIMIT]:
        rung_range_by_organ = RUNG_RANGE_BY_ORGAN | RUNG_RANGE_WITHOUT_LIVER
    for organ_name, (lowest_rung, highest_rung) in rung_range_by_organ.items():
        organ = organs.get(organ_name)
        if organ is not None:
            is_undecided = (
                ~is_decided & (slice_index >= organ.first_slice) & (slice_index <= organ.last_slice)
            )
            lowest_rungs[is_undecided] = np.maximum(lowest_rungs[is_undecided], lowest_rung)
            highest_rungs[is_undecided] = np.minimum(highest_rungs[is_undecided], highest_rung)
    _settle_rungs(lowest_rungs, highest_rungs, is_limit_absent)
    no_rungs = np.zeros(0, dtype=np.int64)
    if (lowest_rungs > highest_rungs).any():
        return (
            no_rungs,
            f"its organs contradict each other in slices {_ranges_in_words(lowest_rungs > highest_rungs)}",
        )
    if (lowest_rungs < highest_rungs).any():
        return (
            no_rungs,
            f"no organ shows where a region ends in slices {_ranges_in_words(lowest_rungs < highest_rungs)}",
        )
    return lowest_rungs, ""


def _organs_of_limit(
    limit: RegionLimit, organs: Mapping[str, OrganExtent | None]
) -> dict[str, OrganExtent | None]:
    """The organs of a limit that have a mask; lobes of a lung only if its upper lobe, which reaches
    highest, has one."""
    masked_organs = [organ_name for organ_name in limit.organs if organ_name in organs]
    upper_sides = {side for side in ("left", "right") if f"lung_upper_lobe_{side}" in masked_organs}
    return {
        organ_name: organs[organ_name]
        for organ_name in masked_organs
        if "_lobe_" not in organ_name or organ_name.rpartition("_")[2] in upper_sides
    }


def _is_limit_absent(
    limit: RegionLimit, organs: Mapping[str, OrganExtent | None], width_mm: float
) -> bool:
    """Whether all masks of a limit's organs, of both sides, are empty although the field of view is
    wide enough to show them (rule 2)."""
    names = list(_organs_of_limit(limit, organs))
    has_both_sides = _has_both_sides(names)
    is_empty = not any(organs[name] for name in names)
    return bool(names) and has_both_sides and is_empty and width_mm >= limit.least_width_mm


def _has_both_sides(names: Iterable[str]) -> bool:
    """Whether there is an organ of both sides, or of neither side in particular."""
    return any("left" in name for name in names) == any("right" in name for name in names)


def _bound_by_limit(
    limit: RegionLimit,
    organs: Mapping[str, OrganExtent | None],
    lowest_rungs: NDArray[np.int64],
    highest_rungs: NDArray[np.int64],
) -> None:
    """Rule 1, in place.

    organs         those of the limit that have a mask
    lowest_rungs   (slices,) the lowest rung still possible for each slice
    highest_rungs  (slices,) the highest
    """
    extent_by_name = {name: organ for name, organ in organs.items() if organ}
    extents = extent_by_name.values()
    if not extents:
        return
    has_both_sides = _has_both_sides(extent_by_name)
    if limit.is_upper_end:
        highest_slice = max(organ.last_slice for organ in extents)
        highest_rungs[: highest_slice + 1] = np.minimum(
            highest_rungs[: highest_slice + 1], limit.rung_below
        )
        if has_both_sides and all(organ.is_upper_end_seen for organ in extents):
            lowest_rungs[highest_slice + 1 :] = np.maximum(
                lowest_rungs[highest_slice + 1 :], limit.rung_below + 1
            )
    else:
        lowest_slice = min(organ.first_slice for organ in extents)
        lowest_rungs[lowest_slice:] = np.maximum(lowest_rungs[lowest_slice:], limit.rung_below + 1)
        if has_both_sides and all(organ.is_lower_end_seen for organ in extents):
            highest_rungs[:lowest_slice] = np.minimum(
                highest_rungs[:lowest_slice], limit.rung_below
            )


def _settle_rungs(
    lowest_rungs: NDArray[np.int64], highest_rungs: NDArray[np.int64], is_limit_absent: list[bool]
) -> None:
    """Applies rules 2 and 4 to the lowest and the highest possible rung of each slice (slices,), in
    place, until nothing changes.

    is_limit_absent  for each of REGION_LIMITS, whether it lies outside the volume
    """
    while True:
        earlier_lowest = lowest_rungs.copy()
        earlier_highest = highest_rungs.copy()
        np.maximum.accumulate(lowest_rungs, out=lowest_rungs)
        highest_rungs[:] = np.minimum.accumulate(highest_rungs[::-1])[::-1]
        for limit, is_absent in zip(REGION_LIMITS, is_limit_absent, strict=True):
            if is_absent and (lowest_rungs > limit.rung_below).any():
                np.maximum(lowest_rungs, limit.rung_below + 1, out=lowest_rungs)
            if is_absent and (highest_rungs <= limit.rung_below).any():
                np.minimum(highest_rungs, limit.rung_below, out=highest_rungs)
        for (lower_limit, is_lower_absent), (upper_limit, is_upper_absent) in pairwise(
            zip(REGION_LIMITS, is_limit_absent, strict=True)
        ):
            # the region between two ends of one organ
            if is_lower_absent and is_upper_absent and lower_limit.organs == upper_limit.organs:
                lowest_rungs[lowest_rungs == upper_limit.rung_below] += 1
                highest_rungs[highest_rungs == upper_limit.rung_below] -= 1
        if np.array_equal(earlier_lowest, lowest_rungs) and np.array_equal(
            earlier_highest, highest_rungs
        ):
            return


def _ranges_in_words(is_in_range: NDArray[np.bool_]) -> str:
    """The runs of True, for a message: "3 to 5, 8"."""
    range_phrases = []
    for first_slice, last_slice in find_runs(is_in_range):
        range_phrase = f"{first_slice}"
        if last_slice > first_slice:
            range_phrase = f"{first_slice} to {last_slice}"
        range_phrases.append(range_phrase)
    return ", ".join(range_phrases)
