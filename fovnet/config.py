"""Settings: YAML parsed into frozen models; all faults are reported at once, before any work begins.

The models below define everything that can be set; the Snakefile and every verb read them through `parse` or
`load`. Nothing deeper than fovnet.cli sees a YAML mapping.
"""

from __future__ import annotations

import colorsys
import math
import re
import reprlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, combinations, count
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PositiveFloat,
    PositiveInt,
    SerializerFunctionWrapHandler,
    Tag,
    TypeAdapter,
    ValidationError,
    model_serializer,
    model_validator,
)

from fovnet.errors import ConfigError
from fovnet.levels import even_ratios
from fovnet.records import write_text
from fovnet.regions import DEFAULT, NONE, Region, Vocabulary, as_word

# characters that the aliases of a YAML file may stand for; a whole configuration has 4,000
MOST_BY_ALIASES = 100_000
LONGEST_SHOWN = 200             # characters of a value in a message
_SHORT = reprlib.Repr()         # writes no more of a large value than is shown
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother = (
    3, 12, 12, 12, 190, 190,
)

class Section(BaseModel):
    """A part of the configuration: frozen; unknown keys, infinities and NaN are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Phantom(Section):
    """The simulated collection; none with 0 subjects.  `without` names features that the simulator does not
    vary (`phantom.features`)."""

    subjects: int = Field(0, ge=0, le=1_000_000)
    volumes_per_subject: PositiveInt = 3
    without: list[str] = []


def _whole(fractions: tuple[float, float, float]) -> tuple[float, float, float]:
    """The fractions, if they add up to 1 within 1e-6.  Raises ValueError."""
    if abs(sum(fractions) - 1) > 1e-6:
        raise ValueError(
            f"the fractions add up to {sum(fractions):.8g}; 1 is wanted, as of [0.5, 0.25, 0.25]"
        )
    return fractions


class Prepare(Section):
    """Slicing, as `fovnet.volume.slices.Slicing`; `split`: the fractions of the subjects in the training,
    validation and test splits."""

    target_spacing_mm: PositiveFloat = 3.0
    max_tilt_deg: float = Field(20.0, ge=0, lt=45)
    blacken_noise: bool = True
    split: Annotated[tuple[PositiveFloat, PositiveFloat, PositiveFloat], AfterValidator(_whole)] = (
        0.5, 0.25, 0.25,
    )

    @property
    def slicing(self) -> dict[str, Any]:
        """The arguments of `fovnet.volume.slices.Slicing`: all fields but `split`."""
        return self.model_dump(exclude={"split"})


class Augmentation(Section):
    """Half-widths of uniform distributions, drawn anew for every slice: degrees, share of the side, shear,
    share of the size, grey levels.

    Not part of the paper's recipe:
    gamma    of the exponent about 1                             window   of each end of the range of grey
        values kept
    crop     share of slices reduced to a rectangle, as if it were the field of view
    bend     of the displacements of a smooth deformation        texture  largest standard deviation of the
        taps of a filter per slice
    tones    largest share of other grey values for the same tissues
    shading  largest logarithm of the gain of a smooth field, as of receive coils
    alone    share of slices of which no input but the slice is shown
    as_cut   whether "millimetres" and "sections" of a cropped and zoomed slice are those of a volume cut the
             same way
    """

    rotation_deg: float = Field(10.0, ge=0, le=180)
    translation: float = Field(0.08, ge=0, le=0.5)
    shear: float = Field(0.1, ge=0, le=1)
    zoom: float = Field(0.15, ge=0, lt=1)
    noise: float = Field(0.03, ge=0, le=1, description="standard deviation at most, as a share of white")
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
    """Reduces the learning rate, and at last ends the training, when the loss stops falling (HyperNOMAD;
    Lakhmiri 2021, chapter 6)."""

    patience: PositiveInt = 5
    factor: float = Field(0.1, gt=0, lt=1)
    reductions: int = Field(2, ge=0)


class Envelope(Section):
    """Prunes trials whose loss lies too far above that of the best one seen (HyperNOMAD; Lakhmiri 2021,
    chapter 6)."""

    milestones: list[PositiveInt] = Field(min_length=1)
    margin: float = Field(0.5, ge=0, description="as a share of the best trial's loss at that epoch")


class EarlyStopping(Section):
    """Rules that end a training before its last epoch; both are off by default."""

    plateau: Plateau | None = None
    envelope: Envelope | None = None


Input = Literal["slice", "neighbours", "millimetres", "sections"]


def _in_order(given: list[Input]) -> list[Input]:
    """The inputs without duplicates, in the order of the channels, which is fixed."""
    return [kind for kind in get_args(Input) if kind in given]


class Training(Section):
    """The recipe of one trial (the paper: 30 epochs of 80,000 augmented slices).

    begin        "shipped", or the folder of an ensemble whose networks are trained further; None: random
                 initial weights
    rate_factor  multiplies the learning rate of the configuration: a trained network forgets at its original
                 rate
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
    def _something_to_leave_out(self) -> Training:
        if self.augmentation.alone and (self.inputs[0] != "slice" or len(self.inputs) == 1):
            raise ValueError(
                f"augmentation.alone: networks that are shown {', '.join(self.inputs)} have nothing beside "
                "the slice to do without; leave it out, or set inputs to [slice, millimetres]"
            )
        return self


class Speed(Section):
    """Speed of the device for the cost model; predicted seconds order the virtual clock, so they belong to
    the configuration.

    `fovnet calibrate` measures the last four in addition to the first three.
    """

    gflop_per_second: PositiveFloat = 20_000.0
    gigabyte_per_second: PositiveFloat = 1_000.0
    microseconds_per_layer: PositiveFloat = 30.0
    weights_gigabyte_per_second: PositiveFloat | None = None
    microseconds_per_slice: float = Field(0.0, ge=0)
    filters_at_once: PositiveInt = 1
    validation_share: PositiveFloat = 1 / 3


FORMS = ("numbers", "word")


def _form(given: Any) -> str:
    """Which of its two forms `speed` has: "word" or "numbers"."""
    return "word" if isinstance(given, str) else "numbers"


def number_in_words(level: Any) -> Any:
    """1e-4 as a number: YAML 1.1 reads it as a string, because it has no decimal point."""
    return float(level) if isinstance(level, str) and NUMBER.fullmatch(level) else level


NUMBER = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
Level = Annotated[int | float | bool | str, BeforeValidator(number_in_words)]


class Range(Section):
    """From `low` to `high`, both included, in `levels` steps of equal ratio: an axis that is continuous on a
    logarithmic scale."""

    low: PositiveFloat
    high: PositiveFloat
    levels: int = Field(ge=2, le=1000)

    @model_validator(mode="after")
    def _levels_apart(self) -> Range:
        if self.low >= self.high:
            raise ValueError(
                f"from low {self.low:g} to high {self.high:g}; low has to be the smaller: swap them, or give "
                "other ends"
            )
        apart = len(set(even_ratios(self.low, self.high, self.levels)))
        if apart < self.levels:
            raise ValueError(
                f"levels {self.levels} from {self.low:g} to {self.high:g} are but {apart} once they have "
                f"four digits; give at most {apart}, or ends farther apart"
            )
        return self


Levels = Annotated[list[Level], Field(min_length=1)]
AXIS_KINDS: Mapping[str, Any] = {
    "ordinal": TypeAdapter(Levels), "categorical": TypeAdapter(Levels), "log": TypeAdapter(Range),
}


MEMBERS = "members"       # a space: the configurations of the networks that training.begin names


def _axis(given: Any) -> Any:
    """An axis in JSON types: a list of levels, or a mapping of one of AXIS_KINDS.  Raises ValueError that
    says what is wrong."""
    if isinstance(given, list):
        return AXIS_KINDS["ordinal"].validate_python(given)
    if not isinstance(given, dict) or len(given) != 1 or not given.keys() <= AXIS_KINDS.keys():
        raise ValueError(
            f"{shown(given)}; give a list of levels, or one of "
            f"{', '.join(f'{{{kind}: ...}}' for kind in AXIS_KINDS)}"
        )
    ((kind, what),) = given.items()
    checked = AXIS_KINDS[kind].validate_python(what)
    return {kind: checked.model_dump() if isinstance(checked, Range) else checked}


def _axis_fault(name: str, fault: Any) -> str:
    if fault["type"] == "value_error":
        return f"{name}: {fault['ctx']['error']}"
    return f"{name}.{_where(fault)}: {shown(fault['input'])}: {_wanted(fault)}"


def _space(given: Any) -> Any:
    """ "paper", "members", or {axis: levels} in JSON types.  Raises ValueError that names every fault."""
    if given in ("paper", MEMBERS):
        return given
    if not isinstance(given, dict) or not given:
        raise ValueError(
            f"{shown(given)}; give paper, 'axis: levels' lines, or {MEMBERS} where training.begin names "
            "networks"
        )
    checked, faults = {}, []
    for name, levels in given.items():
        try:
            checked[str(name)] = _axis(levels)
        except ValidationError as error:
            faults += [_axis_fault(str(name), fault) for fault in error.errors()]
        except ValueError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise ValueError("; ".join(faults))
    return checked


IMPROVING = ("gp-ei", "gp-hyperband", "ensemble-ei", "gp-rgpe")
POLLING = ("mads", "a-mads")
TAUGHT = ("ranking", "gp-rgpe")
REGRETLESS = {"random": "method random models nothing", "gp-rgpe": "method gp-rgpe knows no distances"}
LATER: Mapping[str, Any] = {
    "candidates": 24, "spend": None, "eta": 3, "least_epochs": 1, "reuse": True, "fidelity": "latest",
    "choose": "best", "neighbours": {}, "mads": None, "ranking": None, "prior": None, "learn_from": [],
}
"""Keys of `search` that came after the first release, and their defaults."""
LEAST_FALL = 40
"""By what a rate falls at least in the fits of "ranking"."""


class Neighbours(Section):
    """Which neighbours a configuration has along an axis, and the levels that other axes get in these."""

    to: Literal["all", "next", "steps"] = "all"
    reset: dict[str, Level] = {}


class Mads(Section):
    """How "mads" and "a-mads" poll, as in `fovnet.search.look.view.Polling`; the last three are of "a-mads"
    alone."""

    order: Literal["shepard", "none"] = "shepard"
    speculative: bool = True
    extended: float = Field(0.25, ge=0, le=1)
    every: PositiveInt = 2
    categories: Literal["free", "fixed"] = "free"
    target_step: float = Field(0.1, gt=0, lt=1)


class Ranking(Section):
    """How "ranking" learns the order of the scores, as in `fovnet.search.look.view.Ranking`."""

    loss: Literal["list", "pair", "net", "point"] = "list"
    weight: Literal["log", "inverse", "linear", "one"] = "log"
    members: PositiveInt = 10
    hidden: list[PositiveInt] = [32, 32]
    epochs: PositiveInt = 300
    rate: PositiveFloat = 0.02
    rate_end: PositiveFloat = 0.0005
    acquisition: Literal["log-ei", "thompson", "mean-rank"] | None = None
    range: PositiveFloat | None = None
    guard: bool = True

    @model_validator(mode="after")
    def _ends_low(self) -> Ranking:
        """A rate that stays high makes of a last bit another row: `fovnet.maths.scorers.train`."""
        if self.rate_end > self.rate / LEAST_FALL:
            raise ValueError(
                f"rate_end: {self.rate_end:g} is more than a {LEAST_FALL}th of rate {self.rate:g}, and other "
                f"machines would then propose other rows; set {self.rate / LEAST_FALL:g} or less"
            )
        if self.weight != "log" and self.loss != "list":
            raise ValueError(f"weight: loss {self.loss} weighs no places; leave it out, or set loss to list")
        return self


class Search(Section):
    """Search method, space and budget.

    spend  epochs: "full" trains every configuration to the end, "hyperband" and "asha" compare them at rungs
           before; None: as the method does
    eta, least_epochs, reuse  of the rungs, as in `fovnet.search.spend.schedule`
    fidelity, choose          as in `fovnet.search.look.view`
    neighbours, mads          of the methods "mads" and "a-mads";    ranking  of the method "ranking"
    prior, learn_from         of "ranking" and "gp-rgpe": a file of `fovnet search learn`, or the journals and
                              results folders that the prior of this run is learned from
    space  with "members" each network that training.begin names is trained with its own configuration;
           `start` is then the first of them
    """

    method: Literal[
        "grid", "random", "gp-ei", "gp-pi", "gp-lcb", "gp-ts", "gp-mes", "gp-es", "gp-esp", "tpe",
        "hyperband", "gp-hyperband", "mads", "a-mads", "ranking", "ensemble-ei", "gp-rgpe",
    ] = "gp-ei"
    targets: Literal["half-ranked", "ranked", "raw"] = "half-ranked"
    kernel: Literal["matern52", "squared-exponential"] = "matern52"
    hyperparameters: Literal["map", "sampled"] = "map"
    per_second: bool = False
    stop_below_regret: PositiveFloat | None = None
    trials: PositiveInt = 300
    workers: PositiveInt = 1
    lead: float = Field(0.15, ge=0, le=1)
    initial: PositiveInt | None = None
    candidates: Literal[24, "all"] = 24
    spend: Literal["full", "hyperband", "asha"] | None = None
    eta: int = 3
    least_epochs: PositiveInt = 1
    reuse: bool = True
    fidelity: Literal["latest", "axis"] = "latest"
    choose: Literal["best", "drawn"] = "best"
    neighbours: dict[str, Neighbours] = {}
    mads: Mads | None = None
    ranking: Ranking | None = None
    prior: str | None = None
    learn_from: list[str] = []
    space: Annotated[dict[str, Any] | str, BeforeValidator(_space)] = "paper"
    start: dict[str, Level] = Field(
        default_factory=lambda: {  # type: ignore[arg-type]
            "blocks": 5, "convolutions": 1, "log2_filters": 6, "kernel": 3, "separable": False,
            "log10_learning_rate": -3, "log2_batch": 3,
        }
    )
    memory_limit_gb: PositiveFloat = 16.0
    seconds_limit: PositiveFloat | None = None
    speed: Annotated[
        Annotated[Speed, Tag("numbers")] | Annotated[Literal["measure"], Tag("word")], Discriminator(_form)
    ] = Speed()
    jobs: bool = False

    @model_serializer(mode="wrap")
    def _as_of_old(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keys that came later are left out where they have their default: what a finished search was made
        with is still the same."""
        return {key: value for key, value in whole(self).items() if key not in LATER or value != LATER[key]}

    @property
    def spends(self) -> str:
        """The way to spend, named or the method's own."""
        return self.spend or ("hyperband" if self.method in ("hyperband", "gp-hyperband") else "full")

    @model_validator(mode="after")
    def _nothing_of_a_process_that_is_not_there(self) -> Search:
        """Random search took such keys without a word from the first, so that its configurations still do."""
        of_a_process = ("targets", "kernel", "hyperparameters", "per_second", "stop_below_regret")
        heeded = ("targets", "per_second") if self.method == "ensemble-ei" else ()
        given = [
            key
            for key in of_a_process
            if key not in heeded and getattr(self, key) != type(self).model_fields[key].default
        ]
        if given and self.method in ("grid", "tpe", "hyperband", "ranking", "ensemble-ei", *POLLING):
            which = "it" if len(given) == 1 else "them"
            raise ValueError(
                f"{', '.join(given)}: of a Gaussian process, and method {self.method} asks none; leave "
                f"{which} out, or set method to gp-ei"
            )
        if self.candidates != 24 and self.method != "tpe":
            raise ValueError(
                f"candidates: method {self.method} compares no candidates; leave it out, or set method to tpe"
            )
        return self

    @model_validator(mode="after")
    def _what_the_method_can_do(self) -> Search:
        if self.per_second and self.method not in IMPROVING:
            raise ValueError(
                f"per_second: {self.method} expects no improvement that seconds could be held against; leave "
                "it out, or set method to gp-ei"
            )
        if self.stop_below_regret is not None and (self.method in REGRETLESS or self.targets == "ranked"):
            what = REGRETLESS.get(self.method, "targets ranked know no distances")
            raise ValueError(
                f"stop_below_regret: {what}, so that what is left to gain is unknown; leave it out, or set "
                "method to gp-ei and targets to half-ranked"
            )
        return self

    @model_validator(mode="after")
    def _what_polls(self) -> Search:
        of_polls = [key for key in ("neighbours", "mads") if getattr(self, key) != LATER[key]]
        if of_polls and self.method not in POLLING:
            raise ValueError(
                f"{', '.join(of_polls)}: method {self.method} does not poll; leave out, or set method to "
                "mads or a-mads"
            )
        usual, given = Mads(), self.mads or Mads()
        of_search = [
            key
            for key in ("every", "categories", "target_step")
            if getattr(given, key) != getattr(usual, key)
        ]
        if of_search and self.method == "mads":
            raise ValueError(
                f"mads.{', mads.'.join(of_search)}: of a global search, and mads has none; leave out, or set "
                "method to a-mads"
            )
        return self

    @model_validator(mode="after")
    def _what_ranks(self) -> Search:
        if self.ranking and self.method != "ranking":
            raise ValueError(
                f"ranking: method {self.method} learns no order; leave it out, or set method to ranking"
            )
        given = [key for key in ("prior", "learn_from") if getattr(self, key)]
        if given and self.method not in TAUGHT:
            raise ValueError(
                f"{', '.join(given)}: method {self.method} learns nothing from other searches; leave out, or "
                f"set method to {' or '.join(TAUGHT)}"
            )
        if not given and self.method == "gp-rgpe":
            raise ValueError("method: gp-rgpe weighs what earlier searches taught; needs search.prior or "
                             "search.learn_from, or set method to gp-ei")
        if len(given) > 1:
            raise ValueError("prior, learn_from: a prior is given and to be learned; leave one of them out")
        return self

    @model_validator(mode="after")
    def _what_goes_with_the_spending(self) -> Search:
        if self.eta < 2:
            raise ValueError(
                f"eta: {self.eta}: of eta trainings one goes on from a rung; set 2 or more, 3 is usual"
            )
        if self.choose == "drawn" and self.method not in IMPROVING:
            raise ValueError(
                f"choose: method {self.method} has no expected improvement to draw by; leave it out, or "
                "set method to gp-ei"
            )
        if self.fidelity == "axis" and not self.method.startswith("gp-"):
            raise ValueError(
                f"fidelity: axis: method {self.method} has no model to see rungs; leave it out, or set "
                "method to gp-ei"
            )
        of_rungs = [
            key for key in ("eta", "least_epochs", "reuse", "fidelity") if getattr(self, key) != LATER[key]
        ]
        if self.spends == "full" and of_rungs:
            raise ValueError(
                f"{', '.join(of_rungs)}: of trainings that are compared before their end, and spend full "
                "trains each to its end; leave out, or set spend to asha"
            )
        if self.spends != "hyperband" and not self.reuse:
            raise ValueError(
                "reuse: false: only hyperband closes brackets; leave it out, or set spend to hyperband"
            )
        if self.spends != "full" and self.stop_below_regret is not None:
            raise ValueError(
                f"stop_below_regret: with spend {self.spends} scores are of trainings before their end, "
                "which say nothing of what is left to gain; leave it out, or set spend to full"
            )
        return self


class Ensemble(Section):
    """How the members are chosen, weighted and stored.

    members    number of best trials that become members      alone  how many of these, the last, are shown
        slices alone
    weights    of the members in the mean                     precision  of the stored network weights
    blend      share of the trained weights in the members; the rest is the weights that the trainings started
               from
    """

    members: PositiveInt = 10
    blend: float = Field(1.0, gt=0, le=1)
    alone: int = Field(0, ge=0)
    weights: Literal["auto", "equal", "greedy", "by-loss"] = "auto"
    precision: Literal["float32", "float16"] = "float32"


class Decision(Section):
    """Candidates among which the validation split chooses, the error rate above which an answer is withheld
    (`stated_error`), and the accepted risk that new people show more than this rate (`at_risk`).

    heights  whether usual heights of regions enter the decision: wholly, if the validation split is decided
             better that way; only for which regions are present ("presence"), so that the slices alone
             determine the borders and cutting off a part of a volume does not move those left; or never
    height_widths  factors on the standard deviations of heights in the training split: people elsewhere vary
             more, and the wider the distribution, the less the remaining borders move when a part of the
             volume is cut off
    """

    sigma_mm: list[Annotated[float, Field(ge=0)]] = Field(
        default=[0.0, 3.0, 6.0, 9.0, 12.0, 18.0], min_length=1
    )
    protocol_threshold: list[Annotated[float, Field(gt=0, lt=1)]] = Field(
        default=[0.2, 0.25, 0.3, 0.35, 0.4, 0.5], min_length=1
    )
    stated_error: float = Field(0.05, gt=0, lt=1)
    at_risk: float = Field(0.1, gt=0, lt=1)
    method: Literal["exact", "intersections"] = "exact"
    heights: Literal["where better", "presence", "never"] = "where better"
    height_widths: list[Annotated[float, Field(gt=0)]] = Field(default=[4.0, 2.0, 1.0], min_length=1)


class Evaluate(Section):
    """Number of bootstrap resamples of the subjects behind every interval."""

    bootstrap: int = Field(1000, ge=100)


class Report(Section):
    """The page.  `volumes_shown`: most failures that are pictured; without `gallery` no volume is pictured;
    without `faces` heads are covered in every picture."""

    title: str = "fovnet: regions of an MRI collection"
    volumes_shown: int = Field(9, ge=0, le=60)
    gallery: bool = True
    faces: bool = True


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

    @model_validator(mode="after")
    def _something_to_learn_from(self) -> Settings:
        if not self.collections and not self.phantom.subjects:
            raise ValueError(
                "nothing to learn from: name a folder under 'collections', or give 'phantom.subjects' (at "
                "least 8)"
            )
        if self.phantom.subjects and "phantom" in self.collections:
            raise ValueError(
                "collections.phantom: the name is taken by the simulated collection; choose another"
            )
        if (self.training.begin is None) == (self.search.space == MEMBERS):
            raise ValueError(
                f"training.begin and search.space: {MEMBERS} go together: which networks are trained "
                "further, and that these are; set both or neither"
            )
        if self.training.begin is None and self.ensemble.blend < 1:
            raise ValueError(
                "ensemble.blend: there is nothing to blend with; set training.begin, or leave it out"
            )
        if self.ensemble.alone >= self.ensemble.members:
            raise ValueError(
                f"ensemble.alone: {self.ensemble.alone} of {self.ensemble.members} members; at least one "
                f"must see all that it is shown: set at most {self.ensemble.members - 1}"
            )
        if self.ensemble.alone and not self.training.augmentation.alone:
            raise ValueError("ensemble.alone: networks that never saw slices alone cannot predict them; set "
                             "training.augmentation.alone as well, to 0.25 for instance, or leave it out")
        if self.search.spends != "full" and self.training.early_stopping.envelope is not None:
            raise ValueError(
                f"training.early_stopping.envelope: search.spend {self.search.spends} stops trainings by "
                "itself; leave it out, or set search.spend to full"
            )
        if any(Path(folder).resolve() == Path(self.results).resolve() for folder in self.search.learn_from):
            raise ValueError(
                f"search.learn_from: {self.results} is where this search itself goes; name other `results`"
            )
        if self.search.least_epochs > self.training.epochs:
            raise ValueError(
                f"search.least_epochs: {self.search.least_epochs} is more than the {self.training.epochs} "
                f"of training.epochs; set 1 to {self.training.epochs}"
            )
        for name in self.collections:
            if not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(
                    f"collections.{name}: use letters, digits, - and _ only; it becomes part of file names"
                )
        return self


def parse(raw: Mapping[str, Any], source: str) -> Settings:
    """The settings in a mapping; `source` names it in errors.

    Raises ConfigError "config-invalid", a sentence for every fault: unknown keys with the nearest known one,
    values with what is wanted.
    """
    try:
        return Settings.model_validate(dict(raw))
    except ValidationError as error:
        faults = "\n".join(f"  {_fault(fault)}" for fault in error.errors())
        raise ConfigError("config-invalid", f"{source}: not a valid configuration:\n{faults}") from None


def load(path: Path) -> Settings:
    """The settings in a YAML file.  Raises ConfigError if it is missing, not YAML, or not valid."""
    return parse(read_yaml(path), str(path))


def refuse_file(settings: Settings, source: str) -> None:
    """Raises ConfigError "results-file" if the results folder, or one above it, is a file; `source` names the
    settings."""
    file = next(
        (place for place in (Path(settings.results), *Path(settings.results).parents) if place.is_file()),
        None,
    )
    if file is not None:
        raise ConfigError(
            "results-file", f"{source}: results: {settings.results}: {file} is a file; name a folder"
        )


def deciding(settings: Settings) -> list[Any]:
    """The settings that determine the trials of a search: not their number, the stopping rule, or whether
    they run as one job or many."""
    return [
        settings.search.model_dump(exclude={"trials", "jobs", "stop_below_regret"}),
        settings.training.model_dump(), settings.seed,
    ]


def write_settings(path: Path, settings: Settings) -> Path:
    """`path`, holding the whole configuration as YAML with defaults filled in; a file that already holds it
    is not rewritten."""
    text = yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    return path


def read_yaml(
    path: Path, like: str = "configs/demo.yaml of the repository is one to start from"
) -> dict[str, Any]:
    """The mapping in a YAML file; `like` is the hint in messages.

    Raises ConfigError: "config-missing", "config-unreadable", or "config-doubled" for a key given twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
        doubled = doubled_keys(text)
        _refuse_expansion(path, text)
        raw = yaml.safe_load(text)
    except FileNotFoundError:
        raise ConfigError("config-missing", f"{path}: no such file; {like}") from None
    except UnicodeDecodeError:
        raise ConfigError("config-unreadable", f"{path}: is no text, wanted a YAML file; {like}") from None
    except OSError as error:
        raise ConfigError(
            "config-unreadable", f"{path}: {error.strerror or error}, wanted a YAML file; {like}"
        ) from None
    except (ValueError, RecursionError) as error:
        # a date such as 2024-02-31, a number of thousands of digits, endless nesting
        message = " ".join(str(error).split())
        raise ConfigError(
            "config-unreadable",
            f"{path}: holds a value that YAML cannot mean ({message}); put text in quotes",
        ) from None
    except yaml.YAMLError as error:
        message = " ".join(str(error).split()).replace('in "<unicode string>", ', "")
        raise ConfigError("config-unreadable", f"{path}: not readable as YAML: {message}") from None
    if doubled:
        raise ConfigError("config-doubled", f"{path}: duplicate keys; remove one of each:\n"
                                            + "\n".join(f"  {fault}" for fault in doubled))
    if not isinstance(raw, dict):
        held = "is empty" if raw is None else f"holds a {type(raw).__name__}"
        raise ConfigError("config-unreadable", f"{path}: {held}, wanted 'key: value' lines; {like}")
    return raw


def _refuse_expansion(path: Path, text: str) -> None:
    """Raises ConfigError "config-unreadable" if aliases make more of a file than MOST_BY_ALIASES characters:
    a kilobyte of aliases of lists of aliases can stand for terabytes."""
    sizes: dict[int, float] = {}

    def size(node: yaml.Node | None) -> float:
        if node is None or isinstance(node, yaml.ScalarNode):
            return 0.0 if node is None else len(node.value) + 1
        if id(node) not in sizes:
            # while its entries are counted: an alias of itself has no end
            sizes[id(node)] = math.inf
            entries = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
            sizes[id(node)] = 1 + sum(map(size, entries))
        return sizes[id(node)]

    made = size(yaml.compose(text, Loader=yaml.SafeLoader))
    if made > len(text) + MOST_BY_ALIASES:
        raise ConfigError(
            "config-unreadable",
            f"{path}: its aliases (*name) stand for {made:,.0f} characters, at most {MOST_BY_ALIASES:,} "
            "are wanted; write the values out",
        )


def shown(value: Any) -> str:
    """A value as it is written in Python, for a message: at most LONGEST_SHOWN characters of it."""
    text = _SHORT.repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN - 1]}…"


def doubled_keys(text: str) -> list[str]:
    """ "line 7: search.trials stands in line 3 already" for every key given twice in one mapping, of which
    YAML alone keeps the last."""
    found: list[str] = []
    seen: set[int] = set()                      # an alias refers to the same node, and may form a cycle

    def walk(node: yaml.Node | None, where: tuple[str, ...]) -> None:
        if node is None or id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for number, entry in enumerate(node.value):
                walk(entry, (*where, str(number)))
        if isinstance(node, yaml.MappingNode):
            first: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                line, path = key.start_mark.line + 1, (*where, str(key.value))
                identity = (key.tag, str(key.value))
                if isinstance(key, yaml.ScalarNode) and identity in first:
                    found.append(f"line {line}: {'.'.join(path)} stands in line {first[identity]} already")
                first.setdefault(identity, line)
                walk(value, path)

    walk(yaml.compose(text, Loader=yaml.SafeLoader), ())
    return found


def vocabulary(name: str) -> Vocabulary:
    """The regions a configuration names: "default", or a YAML file with a list `regions` of name, rung,
    colour and codes.

    Raises ConfigError "regions-invalid" if an entry lacks name or rung or has an invalid value, a name occurs
    twice or is "none", or the rungs are not 0, 1, 2, ...
    """
    if name == "default":
        return DEFAULT
    raw = read_yaml(Path(name), "give default, or a YAML file with a list 'regions' of name and rung")
    entries = raw.get("regions")
    for key in [key for key in raw if key != "regions"]:
        raise ConfigError(
            "regions-invalid",
            f"{name}: {key}: unknown key; {_nearest(str(key), ('regions',))} (only neighbouring rungs may "
            "touch, and nothing else is a setting)",
        )
    if not isinstance(entries, list) or not entries:
        raise ConfigError(
            "regions-invalid", f"{name}: wanted a list 'regions' with an entry (name, rung, colour) each"
        )
    return Vocabulary(tuple(_coloured(_checked(name, [_region(name, entry) for entry in entries]))))


def _readable(text: str) -> str:
    """Text in Unicode NFC without surrounding blanks, as tables, pages and DICOM can hold it.  Raises
    ValueError for other characters."""
    text = unicodedata.normalize("NFC", text).strip()
    if "\\" in text or not text.isprintable():
        raise ValueError("no tab, line break or backslash is wanted")
    return text


class RegionEntry(Section):
    """A region in a user's YAML file; `fovnet.regions.Region` describes the fields."""

    name: Annotated[str, Field(strict=True), AfterValidator(_readable), Field(pattern=r"\w", max_length=64)]
    rung: Annotated[int, Field(strict=True)] | None
    colour: str = Field("", pattern="^(#[0-9a-fA-F]{6})?$")
    # YAML reads digits without quotes as a number
    sct: Annotated[str, BeforeValidator(str), Field(pattern=r"^(\d{6,16})?$")] = ""
    body_part: str = Field("", pattern="^[A-Z0-9 _]{0,16}$")
    synonyms: tuple[Annotated[str, BeforeValidator(lambda word: str(word).upper())], ...] = ()
    level: str = ""
    meaning: Annotated[str, AfterValidator(_readable)] = Field("", max_length=64)


ENTRY_WANTED = {
    "name": "up to 64 characters are wanted, a letter or digit among them, no tab, line break or backslash",
    "colour": "'#' and six digits from 0 to f, in quotes, are wanted",
    "sct": "a SNOMED CT concept is wanted, 6 to 16 digits",
    "body_part": "a DICOM code string is wanted: up to 16 capitals, digits, blanks and _",
    "meaning": "up to 64 characters are wanted, as DICOM has them, no backslash among them",
}


def _region(source: str, entry: Any) -> Region:
    if not isinstance(entry, dict) or not {"name", "rung"} <= entry.keys():
        raise ConfigError(
            "regions-invalid",
            f"{source}: {shown(entry)}: each entry needs name and rung (null beside the chain)",
        )
    known = tuple(RegionEntry.model_fields)
    for key in [key for key in entry if key not in known]:
        raise ConfigError(
            "regions-invalid", f"{source}: {entry['name']}.{key}: unknown key; {_nearest(str(key), known)}"
        )
    try:
        return Region(**RegionEntry(**entry).model_dump())
    except ValidationError as faults:
        fault = faults.errors()[0]
        wanted = ENTRY_WANTED.get(str(fault["loc"][0]), _wanted(fault))
        raise ConfigError(
            "regions-invalid",
            f"{source}: {entry['name']}.{fault['loc'][0]}: {shown(fault['input'])}: {wanted}",
        ) from None


PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
"""Okabe & Ito's colours (2008), for regions without a colour; then hues in golden-ratio steps, dark and light
in turn."""


def _coloured(regions: Sequence[Region]) -> list[Region]:
    """The regions; those without a colour are given one that no other has."""
    taken = {region.colour.lower() for region in regions}
    hues = (colorsys.hls_to_rgb(0.618034 * step % 1, 0.35 + 0.25 * (step % 2), 0.65) for step in count())
    more = ("#" + "".join(f"{round(255 * part):02x}" for part in hue) for hue in hues)
    free = (colour for colour in chain(PALETTE, more) if colour not in taken)
    return [region if region.colour else replace(region, colour=next(free)) for region in regions]


def _checked(source: str, regions: list[Region]) -> list[Region]:
    names = [region.name for region in regions]
    rungs = sorted(region.rung for region in regions if region.rung is not None)
    if len(set(names)) < len(names) or as_word(NONE) in map(as_word, names):
        raise ConfigError(
            "regions-invalid", f"{source}: the names {names} must differ, and none may be '{NONE}'"
        )
    for one, other in combinations(regions, 2):
        if shared := sorted(one.words & other.words):
            raise ConfigError(
                "regions-invalid",
                f"{source}: {shared[0]!r} means {one.name!r} and {other.name!r} (name, body_part or "
                "synonyms; capitals and _ do not count); leave it to one of them",
            )
    if rungs != list(range(len(rungs))) or not rungs:
        raise ConfigError(
            "regions-invalid", f"{source}: the rungs are {rungs}; wanted 0, 1, 2, ... from feet to head"
        )
    return regions


def _fault(fault: Any) -> str:
    """One pydantic fault as "search.trails: unknown key; did you mean 'trials'?"."""
    fault = {**fault, "loc": tuple(step for step in fault["loc"] if step not in FORMS)}
    where = _where(fault)
    if fault["type"] == "extra_forbidden":
        section: Any = Settings
        for step in fault["loc"][:-1]:
            # else a name of the user's, of which each has a section
            if step in section.model_fields:
                section = _section(section.model_fields[step].annotation)
        return f"{where}: unknown key; {_nearest(str(fault['loc'][-1]), tuple(section.model_fields))}"
    if fault["type"] == "value_error":
        return f"{where}: {fault['ctx']['error']}" if where else str(fault["ctx"]["error"])
    return f"{where}: {shown(fault['input'])}: {_wanted(fault)}"


def _section(annotation: Any) -> Any:
    """The Section among the types of an annotation such as `Speed | Literal["measure"]`; the annotation
    itself if there is none."""
    choices = ((get_args(choice) or (choice,))[0] for choice in get_args(annotation))
    return next(
        (choice for choice in choices if isinstance(choice, type) and issubclass(choice, Section)), annotation
    )


def _where(fault: Any) -> str:
    return ".".join(str(step) for step in fault["loc"])


def _wanted(fault: Any) -> str:
    """What is wanted instead of the value, and how to write it if pydantic's message does not say so."""
    if fault["type"] in ("dict_type", "model_type") and isinstance(fault["input"], str | int | float):
        return f"names with a value each are wanted, such as NAME: {str(fault['input'])[:LONGEST_SHOWN]}"
    if fault["type"] == "missing" and isinstance(fault["loc"][-1], int):
        return f"a value number {fault['loc'][-1] + 1} is wanted too"
    return f"{fault['msg'][0].lower()}{fault['msg'][1:]}"


def _nearest(word: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"
