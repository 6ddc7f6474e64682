"""How one network is trained."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, model_validator

from fovnet.config.section import Section


class Augmentation(Section):
    """Half-widths of uniform distributions, drawn anew for every slice: degrees, share of the side,
    shear, share of the size, grey levels.

    Not part of the paper's recipe:
    gamma    of the exponent about 1
    window   of each end of the range of grey values kept
    crop     share of slices reduced to a rectangle, as if it were the field of view
    bend     of the displacements of a smooth deformation
    texture  largest standard deviation of the taps of a filter per slice
    tones    largest share of other grey values for the same tissues
    shading  largest logarithm of the gain of a smooth field, as of receive coils
    alone    share of slices of which no input but the slice is shown
    as_cut   whether "millimetres" and "sections" of a cropped and zoomed slice are those of a
             volume cut the same way
    """

    rotation_deg: float = Field(10.0, ge=0, le=180)
    translation: float = Field(0.08, ge=0, le=0.5)
    shear: float = Field(0.1, ge=0, le=1)
    zoom: float = Field(0.15, ge=0, lt=1)
    noise: float = Field(
        0.03, ge=0, le=1, description="standard deviation at most, as a share of white"
    )
    gamma: float = Field(0.0, ge=0, lt=1)
    window: float = Field(0.0, ge=0, lt=0.5)
    crop: float = Field(0.0, ge=0, le=1)
    bend: float = Field(0.0, ge=0, le=0.2)
    texture: float = Field(0.0, ge=0, le=1)
    tones: float = Field(0.0, ge=0, le=1)
    shading: float = Field(0.0, ge=0, le=3)
    alone: float = Field(0.0, ge=0, lt=1)
    as_cut: bool = True


class Plateau(Section):
    """Reduces the learning rate, and at last ends the training, when the loss stops falling
    (HyperNOMAD; Lakhmiri 2021, chapter 6)."""

    patience: PositiveInt = 5
    factor: float = Field(0.1, gt=0, lt=1)
    reductions: int = Field(2, ge=0)


class Envelope(Section):
    """Prunes trials whose loss lies too far above that of the best one seen (HyperNOMAD; Lakhmiri
    2021, chapter 6)."""

    milestones: list[PositiveInt] = Field(min_length=1)
    margin: float = Field(
        0.5, ge=0, description="as a share of the best trial's loss at that epoch"
    )


class EarlyStopping(Section):
    """Rules that end a training before its last epoch; both are off by default."""

    plateau: Plateau | None = None
    envelope: Envelope | None = None


Input = Literal["slice", "neighbours", "millimetres", "sections"]


def _in_order(inputs: list[Input]) -> list[Input]:
    """The inputs without duplicates, in the order of the channels, which is fixed."""
    return [kind for kind in get_args(Input) if kind in inputs]


class Training(Section):
    """The recipe of one trial (the paper: 30 epochs of 80,000 augmented slices).

    begin        "shipped", or the folder of an ensemble whose networks are trained further; None:
                 random initial weights
    rate_factor  multiplies the learning rate of the configuration: a trained network forgets at its
                 original rate
    """

    epochs: PositiveInt = 30
    slices_per_epoch: PositiveInt = 80_000
    validation_slices: PositiveInt | None = None
    head: Literal["fc", "gap", "small"] = "fc"
    inputs: Annotated[list[Input], AfterValidator(_in_order), Field(min_length=1)] = ["slice"]
    begin: str | None = None
    rate_factor: float = Field(1.0, gt=0, le=1)
    averaging: float = Field(0.0, ge=0, lt=1)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    cooldown: float = Field(0.0, ge=0, le=1)
    sampling: Literal["slices", "volumes"] = "slices"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    guessing_epochs: PositiveInt | None = 3
    timeout_minutes: PositiveFloat | None = None
    early_stopping: EarlyStopping = EarlyStopping()
    augmentation: Augmentation = Augmentation()

    @model_validator(mode="after")
    def _check_alone(self) -> Training:
        """Raises ValueError if there is no input beside the slice to leave out."""
        if self.augmentation.alone and (self.inputs[0] != "slice" or len(self.inputs) == 1):
            raise ValueError(
                f"augmentation.alone: networks with the inputs {', '.join(self.inputs)} have no "
                "input beside the slice to leave out; remove it, or set inputs to [slice, "
                "millimetres]"
            )
        return self
