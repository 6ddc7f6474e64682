"""A whole configuration, and those of its parts that are but a few keys."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, model_validator

from fovnet.config.search import Search
from fovnet.config.section import Section
from fovnet.config.space import MEMBERS
from fovnet.config.training import Training


class Phantom(Section):
    """The simulated collection; none with 0 subjects.  `without` names features that the simulator
    does not vary (`phantom.features`)."""

    subjects: int = Field(0, ge=0, le=1_000_000)
    volumes_per_subject: PositiveInt = 3
    without: list[str] = []


def _fractions_adding_to_one(fractions: tuple[float, float, float]) -> tuple[float, float, float]:
    """The fractions, if they add up to 1 within 1e-6.  Raises ValueError."""
    if abs(sum(fractions) - 1) > 1e-6:
        raise ValueError(
            f"the fractions add up to {sum(fractions):.8g}; they must add up to 1, as in [0.5, "
            "0.25, 0.25]"
        )
    return fractions


class Prepare(Section):
    """Slicing, as `fovnet.volume.slices.stack.Slicing`; `split`: the fractions of the subjects in
    the training, validation and test splits."""

    target_spacing_mm: PositiveFloat = 3.0
    max_tilt_deg: float = Field(20.0, ge=0, lt=45)
    blacken_noise: bool = True
    even_light: bool = False
    split: Annotated[
        tuple[PositiveFloat, PositiveFloat, PositiveFloat], AfterValidator(_fractions_adding_to_one)
    ] = (
        0.5,
        0.25,
        0.25,
    )

    @property
    def slicing(self) -> dict[str, Any]:
        """The arguments of `fovnet.volume.slices.stack.Slicing`: all fields but `split`."""
        return self.model_dump(exclude={"split"})


class Ensemble(Section):
    """How the members are chosen, weighted and stored.

    members    number of best trials that become members
    alone      how many of these, the last, are shown slices alone
    weights    of the members in the mean
    precision  of the stored network weights
    blend      share of the trained weights in the members; the rest is the weights that the
               trainings started from
    """

    members: PositiveInt = 10
    blend: float = Field(1.0, gt=0, le=1)
    alone: int = Field(0, ge=0)
    weights: Literal["auto", "equal", "greedy", "by-loss"] = "auto"
    precision: Literal["float32", "float16"] = "float32"


OLDER_KEY = "protocol_threshold"


@cache
def _warn_renamed() -> None:
    """Once a process: the setting is read by its older name too."""
    logging.getLogger("fovnet").warning(
        "decision.%s is now decision.side_threshold, and was read as that", OLDER_KEY
    )


class Decision(Section):
    """Candidates among which the validation split chooses, the error rates above which an answer is
    withheld, and the accepted risk that new people show more than these (`at_risk`).

    stated_error     of slices, in volumes of which nothing is doubted
    statement_error  of what is said of a region, yes or no
    min_extent_mm    height of a region that has to be in the picture for it to be shown
    heights          whether usual heights of regions enter the decision: wholly, if the validation
                     split is decided better that way; only for which regions are present
                     ("presence"), so that the slices alone determine the borders and cutting off a
                     part of a volume does not move those left; or never
    height_widths    factors on the standard deviations of heights in the training split: people
                     elsewhere vary more, and the wider the distribution, the less the remaining
                     borders move when a part of the volume is cut off
    """

    @model_validator(mode="before")
    @classmethod
    def _read_older_key(cls, values: Any) -> Any:
        """The values with the older key renamed, if the newer one is not there."""
        if not isinstance(values, dict) or OLDER_KEY not in values or "side_threshold" in values:
            return values
        _warn_renamed()
        return {"side_threshold": values[OLDER_KEY]} | {
            key: value for key, value in values.items() if key != OLDER_KEY
        }

    sigma_mm: list[Annotated[float, Field(ge=0)]] = Field(
        default=[0.0, 3.0, 6.0, 9.0, 12.0, 18.0], min_length=1
    )
    side_threshold: list[Annotated[float, Field(gt=0, lt=1)]] = Field(
        default=[0.2, 0.25, 0.3, 0.35, 0.4, 0.5], min_length=1
    )
    stated_error: float = Field(0.05, gt=0, lt=1)
    statement_error: float = Field(0.02, gt=0, lt=1)
    min_extent_mm: float = Field(10.0, gt=0, le=1000)
    at_risk: float = Field(0.1, gt=0, lt=1)
    method: Literal["exact", "intersections"] = "exact"
    heights: Literal["where better", "presence", "never"] = "where better"
    height_widths: list[Annotated[float, Field(gt=0)]] = Field(
        default=[4.0, 2.0, 1.0], min_length=1
    )


class Evaluate(Section):
    """Number of bootstrap resamples of the subjects behind every interval."""

    bootstrap: int = Field(1000, ge=100)


class Report(Section):
    """The page.  `volumes_shown`: most failures that are pictured; without `gallery` no volume is
    pictured; without `faces` heads are covered in every picture; without `ablation` the workflow
    does not measure what each step contributes."""

    title: str = "fovnet: regions of an MRI collection"
    volumes_shown: int = Field(9, ge=0, le=60)
    gallery: bool = True
    faces: bool = True
    ablation: bool = True


class Settings(Section):
    """A whole configuration; `configs/default.yaml` shows every key with its meaning."""

    results: str = Field("results/default", min_length=1)
    seed: int = Field(1, ge=0)
    collections: dict[str, str] = {}
    regions: str = "default"
    identifiers: Literal["hashed", "plain"] = "hashed"
    phantom: Phantom = Phantom()
    prepare: Prepare = Prepare()
    training: Training = Training()
    search: Search = Search()
    ensemble: Ensemble = Ensemble()
    decision: Decision = Decision()
    evaluate: Evaluate = Evaluate()
    report: Report = Report()

    @property
    def settings_of_trials(self) -> list[Any]:
        """The settings that determine the trials of a search: not their number, the stopping rule,
        or whether they run as one job or many."""
        searched = self.search.model_dump(exclude={"trials", "jobs", "stop_below_regret"})
        return [searched, self.training.model_dump(), self.seed]

    @model_validator(mode="after")
    def _check_sources(self) -> Settings:
        """Raises ValueError without anything to learn from, or for a collection named "phantom"
        beside the simulated one."""
        if not self.collections and not self.phantom.subjects:
            raise ValueError(
                "nothing to learn from: name a folder under 'collections', or give "
                "'phantom.subjects' (at least 8)"
            )
        if self.phantom.subjects and "phantom" in self.collections:
            raise ValueError(
                "collections.phantom: the name is taken by the simulated collection; choose another"
            )
        return self

    @model_validator(mode="after")
    def _check_begin(self) -> Settings:
        """Raises ValueError if training.begin, search.space and ensemble.blend contradict each
        other."""
        if self.training.begin is not None and self.search.has_tree:
            first_name = next(iter(self.search.model_dump()["space"]))
            raise ValueError(
                f"training.begin: its networks have blocks, this space has {first_name}; leave it out"
            )
        if self.training.head != "fc" and self.search.has_tree:
            raise ValueError(
                f"training.head: {self.training.head}, but the networks of this space end with its dense "
                "layers; leave it out"
            )
        if (self.training.begin is None) == (self.search.space == MEMBERS):
            raise ValueError(
                f"training.begin and search.space: {MEMBERS} go together (which networks are "
                "trained further, and that only these are trained); set both or neither"
            )
        if self.training.begin is None and self.ensemble.blend < 1:
            raise ValueError(
                "ensemble.blend: there is nothing to blend with; set training.begin, or leave it "
                "out"
            )
        return self

    @model_validator(mode="after")
    def _check_alone(self) -> Settings:
        """Raises ValueError if ensemble.alone leaves no member with all inputs, or none learned to
        do without."""
        if self.ensemble.alone >= self.ensemble.members:
            raise ValueError(
                f"ensemble.alone: {self.ensemble.alone} of {self.ensemble.members} members; at "
                f"least one must use all inputs: set at most {self.ensemble.members - 1}"
            )
        if self.ensemble.alone and not self.training.augmentation.alone:
            raise ValueError(
                "ensemble.alone: networks never trained on slices alone cannot predict them; "
                "set training.augmentation.alone as well, to 0.25 for instance, or leave it "
                "out"
            )
        return self

    @model_validator(mode="after")
    def _check_search(self) -> Settings:
        """Raises ValueError if the search contradicts the training or learns from its own
        results."""
        if self.search.way_to_spend != "full" and self.training.early_stopping.envelope is not None:
            raise ValueError(
                f"training.early_stopping.envelope: search.spend {self.search.way_to_spend} stops "
                "trainings by itself; leave it out, or set search.spend to full"
            )
        results = Path(self.results).resolve()
        if any(Path(folder).resolve() == results for folder in self.search.learn_from):
            raise ValueError(
                f"search.learn_from: {self.results} is the results folder of this search itself; "
                "set another `results`"
            )
        if self.search.least_epochs > self.training.epochs:
            raise ValueError(
                f"search.least_epochs: {self.search.least_epochs} is more than the "
                f"{self.training.epochs} of training.epochs; set 1 to {self.training.epochs}"
            )
        return self

    @model_validator(mode="after")
    def _check_collection_names(self) -> Settings:
        """Raises ValueError for a name that cannot become part of a file name."""
        for name in self.collections:
            if not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(
                    f"collections.{name}: use letters, digits, - and _ only; it becomes part of "
                    "file names"
                )
        return self
