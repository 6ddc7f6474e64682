"""The header's sform is a matrix of ones against the voxel sizes, and was not believed."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.checks.check import EXTENTS_ALONE, Check, DecidedVolume
from fovnet.decision.rule import Rule


def measure(volume: DecidedVolume) -> bool:
    """Whether the sform is of ones."""
    return volume.stack.has_sform_of_ones


def find_reasons(has_sform_of_ones: bool, rule: Rule) -> Iterator[str]:
    """A sentence if it is."""
    if has_sform_of_ones:
        heights = "heights may be those of another table position"
        yield f"its header contradicts itself about its place: {heights}"


CHECK = Check(
    code="sform-of-ones",
    words="a header without a sure place",
    meaning="the sform of the NIfTI is a matrix of ones, as programs write that know no better, "
    "and pixdim gives other voxel sizes: sizes are pixdim's, and heights may be off by any "
    "distance",
    to_try="convert the original series again (dcm2niix), if heights matter",
    measure=measure,
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
