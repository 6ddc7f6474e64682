"""What the last layers of an ensemble's networks are given for a volume, and what the networks say of
it with any last layers: pixels and the layers before are needed once.

    s  slices    d  of these dark ones    p  networks    f  features of all networks, side by side
    k  classes of the networks

Features are the outputs of a ReLU: four fifths of them and more are zero, so that a slice of ten
networks of 256 features takes 0.8 kB in a compressed file, in half precision.  That changes the
probabilities after a fit by 0.0001 in the mean and 0.006 at most, where the fit changes them by
0.023 in the mean; of 807 slices none is then called another region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fovnet.decision.checks.check import Picture
from fovnet.decision.dark_slices import brighten, find_dark_rows, rows_if_high_enough
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.orientation import Bearing
from fovnet.decision.picture import MeasuredPicture, RecordedPicture
from fovnet.maths.softmax_regression import Layer, scores
from fovnet.volume.slices.stack import SliceStack

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.net.inference.last_layer import HeadlessNetworks

Features = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class LayerInputs:
    """The features of a volume's slices.

    upright     (s, f) of the slices as they are
    turned      (s, f) of those of the volume turned over, from its head; None if it is not to be
                answered, but only learned from, or the networks do not see the volume
    dark_rows   (d,) the slices that are brightened where they seem to show nothing
    brightened  (d, f) of these, brightened
    distances   (s,) from the novelty reference; None without one
    picture     what is measured on the pixels
    """

    upright: Features
    turned: Features | None
    dark_rows: NDArray[np.int64]
    brightened: Features
    distances: NDArray[np.float64] | None
    picture: Picture | None

    def compute_outputs(
        self, layers: Sequence[Layer], judge: Judge, edges_mm: NDArray[np.float64]
    ) -> MemberOutputs:
        """What the networks say of the volume with these last layers, as
        `Ensemble.compute_volume_outputs` gives it; `judge` has the networks' weights."""
        vocabulary = judge.network_vocabulary or judge.vocabulary

        def outputs_of(features: Features) -> MemberOutputs:
            """What the networks say of slices with these features (s, f)."""
            return MemberOutputs.of_classes(_probabilities(features, layers), vocabulary)

        outputs = replace(
            outputs_of(self.upright), novelty_distances=self.distances, picture=self.picture
        )
        if self.turned is not None and judge.names_several_regions(outputs):
            turned_members = outputs_of(self.turned).member_probabilities
            outputs = replace(outputs, turned_probabilities=turned_members)
        if self.picture is None or not len(self.dark_rows):
            return outputs
        shows_nothing = judge.seems_empty(outputs, self.picture.is_air)
        is_dark = np.zeros(len(self.upright), dtype=bool)
        is_dark[self.dark_rows] = True
        rows_in_question = rows_if_high_enough(is_dark & shows_nothing, edges_mm)
        if not len(rows_in_question):
            return outputs
        brightened_members = np.full_like(outputs.member_probabilities, np.nan)
        brightened_members[:, rows_in_question] = outputs_of(
            self.brightened[np.searchsorted(self.dark_rows, rows_in_question)]
        ).member_probabilities
        return replace(outputs, brightened_probabilities=brightened_members)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of a file; the features transposed, as zeros then lie together."""
        arrays: dict[str, Any] = {"upright": self.upright.T}
        if self.turned is not None:
            arrays["turned"] = self.turned.T
        if len(self.dark_rows):
            arrays |= {"dark": self.dark_rows, "brightened": self.brightened.T}
        if self.distances is not None:
            arrays["distances"] = self.distances.astype(np.float32)
        if self.picture is not None:
            arrays |= _arrays_of_picture(self.picture)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LayerInputs:
        """From the arrays of a file.  Raises KeyError and ValueError for others."""
        upright = arrays["upright"].T
        turned = arrays.get("turned")
        distances = arrays.get("distances")
        return cls(
            upright=upright,
            turned=None if turned is None else turned.T,
            dark_rows=arrays.get("dark", np.empty(0, np.int64)),
            brightened=arrays.get("brightened", upright[:0].T).T,
            distances=None if distances is None else distances.astype(np.float64),
            picture=_picture_of_arrays(arrays),
        )


def measure_layer_inputs(
    headless: HeadlessNetworks, ensemble: Ensemble, stack: SliceStack, *, is_answered: bool
) -> LayerInputs:
    """The inputs of the last layers for a volume, in half precision where they fit into it.

    headless     the ensemble's networks without their last layers
    is_answered  whether the volume is to be answered, not only to be learned from
    """
    all_rows = np.arange(len(stack.pixels))
    upright = headless.compute_features(stack.pixels, all_rows, stack.placing)
    if not is_answered:
        return LayerInputs(
            _halved(upright), None, all_rows[:0], _halved(upright[:0]), distances=None, picture=None
        )
    turned = None
    if ensemble.sees_the_volume:
        turned_stack = replace(stack, pixels=stack.pixels[::-1], z_mm=-stack.z_mm[::-1])
        turned = _halved(
            headless.compute_features(turned_stack.pixels, all_rows, turned_stack.placing)
        )
    everywhere = np.ones(len(all_rows), dtype=bool)
    dark_rows = find_dark_rows(stack.pixels, everywhere, stack.edges_mm)
    brightened = upright[:0]
    if len(dark_rows):
        brightened = headless.compute_features(brighten(stack.pixels), dark_rows, stack.placing)
    distances = None
    if ensemble.novelty is not None:
        distances = ensemble.compute_outputs(stack.pixels, placing=stack.placing).novelty_distances
    return LayerInputs(
        _halved(upright),
        turned,
        dark_rows,
        _halved(brightened),
        distances,
        MeasuredPicture(stack, ensemble.orientation),
    )


def _halved(features: NDArray[np.float32]) -> Features:
    """The features in half precision, unless one is too large for it."""
    if np.abs(features).max(initial=0.0) > np.finfo(np.float16).max:
        return features
    return features.astype(np.float16)


def _probabilities(features: Features, layers: Sequence[Layer]) -> NDArray[np.float32]:
    """(p, s, k) of slices with these features (s, f), by each network's last layer."""
    widths = [weight.shape[1] for weight, _ in layers]
    features_of_members = np.split(features.astype(np.float64), np.cumsum(widths)[:-1], axis=1)
    return np.stack(
        [
            softmax(scores(member_features, layer), axis=1)
            for member_features, layer in zip(features_of_members, layers, strict=True)
        ]
    ).astype(np.float32)


def _arrays_of_picture(picture: Picture) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "is_air": picture.is_air,
        "order": np.array([picture.disorder, picture.pass_count]),
        "phantom": np.array(picture.resembles_phantom),
        "extent_mm": np.array(picture.extent_mm),
    }
    if picture.bearing is not None:
        arrays["upright_probability"] = np.array(picture.bearing.upright_probability)
        arrays["direction"] = np.array(picture.bearing.direction)
    return arrays


def _picture_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> RecordedPicture | None:
    if "is_air" not in arrays:
        return None
    disorder, pass_count = arrays["order"].tolist()
    bearing = None
    if "direction" in arrays:
        bearing = Bearing(float(arrays["upright_probability"]), str(arrays["direction"]))
    return RecordedPicture(
        arrays["is_air"],
        disorder,
        int(pass_count),
        bool(arrays["phantom"]),
        float(arrays["extent_mm"]),
        bearing,
    )
