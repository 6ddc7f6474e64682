"""The numbers of a training that all trainings of a run share; without torch, so that planning
costs none."""

from __future__ import annotations

from dataclasses import dataclass, field

from fovnet.net.stopping import Ends


@dataclass(frozen=True)
class Ranges:
    """Half-widths of the uniform draws: degrees, share of the side, shear, share of the size; noise
    is the largest sd drawn.

    gamma   of the exponent about 1
    window  of each end of the grey values kept, about 0 and 1
    crop    the share of slices cropped to a rectangle, as if it were the field of view; and the
            share of the ends of volumes that are cut off in sections
    bend    of the displacements of control points, share of the side
    texture  largest sd of the taps of a slice's random filter
    tones   largest mixing share of a slice's random tone curve
    shading  largest logarithm of a slice's random gains
    as_cut  whether a crop is resampled at 4 mm like a slice cut to it, and sections are zoomed
            along their own axis; without it, as for networks trained earlier, crops are blurred and
            the sagittal section is zoomed along the slice's other axis
    alone   the share of slices whose other channels are black.  Neverova et al. (2016), ModDrop,
            section 4.2: a network does not come to rely on an input that may be missing
    """

    rotation_deg: float
    translation: float
    shear: float
    zoom: float
    noise: float
    gamma: float = 0.0
    window: float = 0.0
    crop: float = 0.0
    bend: float = 0.0
    texture: float = 0.0
    tones: float = 0.0
    alone: float = 0.0
    shading: float = 0.0
    as_cut: bool = True


@dataclass(frozen=True)
class Recipe:
    """The settings that all trials of a search share.

    averaging  decay of the running mean of the weights, which is validated and kept instead of the
               last step's; 0: none, as in the paper
    precision  of the layers' arithmetic, as in `fovnet.net.training.train_step.autocast_in`
    sampling   "slices": permutations of the slices, as in the paper; "volumes": permutations of the
               volumes, a random slice of each
    cooldown   share of the epochs, the last ones, over which the learning rate falls in equal steps
               towards zero; 0: none, as in the paper. The schedule then depends on the number of
               epochs, so that a training for more epochs starts again
    """

    epochs: int
    slices_per_epoch: int
    ranges: Ranges
    averaging: float = 0.0
    ends: Ends = field(default_factory=Ends)
    precision: str = "auto"
    cooldown: float = 0.0
    sampling: str = "slices"

    def cooldown_factor(self, epoch: int) -> float:
        """The factor on the learning rate in an epoch, counted from 0: 1, 1, 1, 1/2 for 4 epochs
        and a cooldown of a half."""
        if not self.cooldown:
            return 1.0
        return min(1.0, (self.epochs - epoch) / max(1.0, self.cooldown * self.epochs))
