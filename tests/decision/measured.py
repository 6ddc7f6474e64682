"""What a judge knows of a volume, and measures on it, where outputs and slices are made up."""

from __future__ import annotations

import numpy as np

from fovnet.decision.checks.check import DecidedVolume
from fovnet.decision.doubts import Signs, measure_signs
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.volume.slices.stack import SliceStack


def stack_of(
    pixels: np.ndarray, z_mm: np.ndarray | None = None, side_mm: float = 400.0
) -> SliceStack:
    """Slices (s, 128, 128) at heights z_mm (s,), evenly spaced; 8 mm apart without."""
    at = np.arange(len(pixels))
    z_mm = 8.0 * at if z_mm is None else z_mm
    apart_mm = float(z_mm[1] - z_mm[0]) if len(z_mm) > 1 else 1.0
    affine = np.diag([3.0, 3.0, apart_mm, 1.0])
    return SliceStack(pixels, z_mm, np.stack([at, at], axis=1), side_mm, affine, "made", "")


def known_of(judge: Judge, outputs: MemberOutputs, stack: SliceStack) -> DecidedVolume:
    return judge.make_decided_volume(
        outputs, stack, judge.decide(outputs, stack.z_mm, stack.edges_mm)
    )


def signs_of(judge: Judge, outputs: MemberOutputs, stack: SliceStack) -> Signs:
    return measure_signs(known_of(judge, outputs, stack))
