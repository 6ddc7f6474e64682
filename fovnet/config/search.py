"""How networks are searched for: the method, its budget, and the speed of the device that prices
are for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PositiveFloat,
    PositiveInt,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from fovnet.choices import (
    Candidates,
    Choose,
    Fidelity,
    Hyperparameters,
    Kernel,
    Models,
    NeighbourLevels,
    PollCategories,
    PollOrder,
    RankingAcquisition,
    RankingLoss,
    RankingWeight,
    SpendKind,
    Targets,
)
from fovnet.config.faults import PathFaults, show_value
from fovnet.config.named_trees import TREE_NAMES, named_tree
from fovnet.config.numbers import Level
from fovnet.config.section import Section
from fovnet.config.space import check_space
from fovnet.config.start import StartValue
from fovnet.config.tree import describe_header, is_tree

FORMS = ("numbers", "word")  # of `speed` and `width`
METHODS_WITH_IMPROVEMENT = ("gp-ei", "gp-hyperband", "ensemble-ei", "gp-rgpe")
POLLING_METHODS = ("mads", "a-mads")
DIRECT_METHODS = (*POLLING_METHODS, "a-dogs")
METHODS_WITH_PROBABILITY = ("gp-pi", "gp-esp")
METHODS_WITH_BOUND = ("gp-lcb", "gp-esp")
METHODS_WITH_PRIOR = ("ranking", "gp-rgpe")
METHODS_WITHOUT_PROCESS = ("grid", "tpe", "hyperband", "ranking", "ensemble-ei", *DIRECT_METHODS)
PROCESS_KEYS = ("targets", "kernel", "hyperparameters", "per_second", "stop_below_regret")
REASON_WITHOUT_REGRET = {
    "random": "method random has no model",
    "gp-rgpe": "method gp-rgpe gives no distances",
}
# fmt: off
METHODS_ON_TREES = (
    "gp-ei", "gp-pi", "gp-lcb", "gp-ts", "gp-hyperband", "ensemble-ei", "mads", "a-mads",
    "a-dogs", "tpe", "random", "hyperband",
)
# fmt: on
REASON_AGAINST_TREE = {
    "grid": "goes through the rows of a finite space",
    **dict.fromkeys(("gp-mes", "gp-es", "gp-esp"), "weighs all rows of a finite space"),
    **dict.fromkeys(METHODS_WITH_PRIOR, "learns an order of the rows of a finite space"),
}
# fmt: off
KEYS_ADDED_LATER = (
    "candidates", "spend", "eta", "least_epochs", "reuse", "fidelity", "choose", "neighbours",
    "mads", "ranking", "prior", "learn_from", "limits", "target", "width",
    "rung_minutes", "models",
)
"""Keys of `search` that are left out of a record where they have their defaults."""
# fmt: on
LEAST_RATE_RATIO = 40
"""By what a rate falls at least in the fits of "ranking"."""


class Speed(Section):
    """Speed of the device for the cost model; predicted seconds order the virtual clock, so they
    belong to the configuration.

    `fovnet calibrate` measures the last four in addition to the first three.
    """

    gflop_per_second: PositiveFloat = 20_000.0
    gigabyte_per_second: PositiveFloat = 1_000.0
    microseconds_per_layer: PositiveFloat = 30.0
    weights_gigabyte_per_second: PositiveFloat | None = None
    microseconds_per_slice: float = Field(0.0, ge=0)
    filters_at_once: PositiveInt = 1
    validation_share: PositiveFloat = 1 / 3


def _form_of(value: Any) -> str:
    """Which of its two forms `speed` or `width` has: "word" or "numbers"."""
    if isinstance(value, str):
        return "word"
    return "numbers"


class Neighbours(Section):
    """Which neighbours a configuration has along an axis, and the levels that other axes get in
    these."""

    to: NeighbourLevels = "all"
    reset: dict[str, Level] = {}


class Mads(Section):
    """How "mads", "a-mads" and "a-dogs" search, as in `fovnet.search.look.view.Polling`; `every` is
    of "a-mads" alone, the last two of "a-dogs" too."""

    order: PollOrder = "shepard"
    speculative: bool = True
    extended: float = Field(0.25, ge=0, le=1)
    every: PositiveInt = 2
    categories: PollCategories = "free"
    target_step: float = Field(0.1, gt=0, lt=1)


class Ranking(Section):
    """How "ranking" learns the order of the scores, as in `fovnet.search.look.view.Ranking`."""

    loss: RankingLoss = "list"
    weight: RankingWeight = "log"
    members: PositiveInt = 10
    hidden: list[PositiveInt] = [32, 32]
    epochs: PositiveInt = 300
    rate: PositiveFloat = 0.02
    rate_end: PositiveFloat = 0.0005
    acquisition: RankingAcquisition | None = None
    range: PositiveFloat | None = None
    guard: bool = True

    @model_validator(mode="after")
    def _check_rates(self) -> Ranking:
        """Raises ValueError for a rate that stays high: on another machine, where a last bit may
        differ, another row would then be proposed (`fovnet.maths.scorers.train`).  Also for a
        weight that the loss does not use."""
        if self.rate_end > self.rate / LEAST_RATE_RATIO:
            raise ValueError(
                f"rate_end: {self.rate_end:g} is more than a {LEAST_RATE_RATIO}th of rate "
                f"{self.rate:g}, so that other machines would propose other rows; set "
                f"{self.rate / LEAST_RATE_RATIO:g} or less"
            )
        if self.weight != "log" and self.loss != "list":
            raise ValueError(
                f"weight: loss {self.loss} does not weight places; leave it out, or set loss "
                "to list"
            )
        return self


class TreeLimits(Section):
    """What a network of a tree may have at most, the multiply-adds for one slice."""

    weights: PositiveFloat | None = None
    multiply_adds: PositiveFloat | None = None


class Search(Section):
    """Search method, space and budget.

    spend         epochs: "full" trains every configuration to the end, "hyperband" and "asha"
                  compare them at rungs before, "asha-or-full" while the rungs tell who will be best;
                  None: as the method does
    eta           of the rungs, as in `fovnet.search.spend.schedule`
    least_epochs  of the rungs, too
    reuse         of the rungs, too
    rung_minutes  of the rungs, too: the last one's
    fidelity      as in `fovnet.search.look.view`
    choose        as in `fovnet.search.look.view`
    target        as in `fovnet.search.look.view`
    width         as in `fovnet.search.look.view`
    models        as in `fovnet.search.look.view`
    neighbours    of the methods "mads" and "a-mads"
    mads          of these, and of "a-dogs"
    ranking       of the method "ranking"
    prior         of "ranking" and "gp-rgpe": a file of `fovnet search learn`
    learn_from    of the same, instead: the journals and results folders that the prior of this run
                  is learned from
    space         with "members" each network that training.begin names is trained with its own
                  configuration; `start` is then the first of them
    start         tried first; of a tree the values that a variable begins with when it becomes
                  active, where it has them
    limits        of a tree, besides memory_limit_gb and seconds_limit
    """

    # fmt: off
    method: Literal[
        "grid", "random", "gp-ei", "gp-pi", "gp-lcb", "gp-ts", "gp-mes", "gp-es", "gp-esp", "tpe",
        "hyperband", "gp-hyperband", "mads", "a-mads", "a-dogs", "ranking", "ensemble-ei", "gp-rgpe",
    ] = "gp-ei"
    # fmt: on
    models: Models = "alternating"
    targets: Targets = "half-ranked"
    kernel: Kernel = "matern52"
    hyperparameters: Hyperparameters = "map"
    per_second: bool = False
    stop_below_regret: PositiveFloat | None = None
    trials: PositiveInt = 300
    workers: PositiveInt = 1
    lead: float = Field(0.15, ge=0, le=1)
    initial: PositiveInt | None = None
    candidates: Candidates = 24
    spend: SpendKind | None = None
    eta: int = 3
    least_epochs: PositiveInt = 1
    reuse: bool = True
    rung_minutes: PositiveFloat | None = None
    fidelity: Fidelity = "latest"
    choose: Choose = "best"
    target: float | None = None
    width: Annotated[
        Annotated[PositiveFloat, Tag("numbers")] | Annotated[Literal["schedule"], Tag("word")],
        Discriminator(_form_of),
    ] = 2.0
    neighbours: dict[str, Neighbours] = {}
    mads: Mads | None = None
    ranking: Ranking | None = None
    prior: str | None = None
    learn_from: list[str] = []
    space: Annotated[dict[str, Any] | str, BeforeValidator(check_space)] = "paper"
    start: dict[str, StartValue] = Field(
        default_factory=lambda: {
            "blocks": 5,
            "convolutions": 1,
            "log2_filters": 6,
            "kernel": 3,
            "separable": False,
            "log10_learning_rate": -3,
            "log2_batch": 3,
        }
    )
    limits: TreeLimits | None = None
    memory_limit_gb: PositiveFloat = 16.0
    seconds_limit: PositiveFloat | None = None
    speed: Annotated[
        Annotated[Speed, Tag("numbers")] | Annotated[Literal["measure"], Tag("word")],
        Discriminator(_form_of),
    ] = Speed()
    jobs: bool = False

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keys that came later are left out where they have their default: what a finished search
        was made with is still the same."""
        return {
            key: value
            for key, value in serialize(self).items()
            if key not in KEYS_ADDED_LATER or self._is_set(key)
        }

    def _is_set(self, key: str) -> bool:
        """Whether a setting has another value than its default."""
        return bool(getattr(self, key) != type(self).model_fields[key].default)

    @property
    def way_to_spend(self) -> SpendKind:
        """The way to spend, named or the method's own."""
        if self.spend:
            return self.spend
        if self.method in ("hyperband", "gp-hyperband"):
            return "hyperband"
        return "full"

    @property
    def has_tree(self) -> bool:
        """Whether the space is a tree, and not a finite table."""
        return is_tree(self.space)

    @model_validator(mode="before")
    @classmethod
    def _begin_tree_with_its_own_values(cls, values: Any) -> Any:
        """The values with the start of its own for a named tree, an empty one for another without: the
        default is a row of the paper's space."""
        if not isinstance(values, dict) or "start" in values:
            return values
        space = values.get("space")
        if isinstance(space, str) and space in TREE_NAMES:
            return {**values, "start": named_tree(space).start}
        if is_tree(space):
            return {**values, "start": {}}
        return values

    @model_validator(mode="after")
    def _check_tree(self) -> Search:
        """Raises ValueError for what a tree cannot have, and for what only a tree has."""
        if not self.has_tree:
            if self.limits:
                raise ValueError("limits: for a tree, but this space is finite; leave it out")
            self._refuse_nested_start()
            return self
        faults = []
        if self.method not in METHODS_ON_TREES:
            faults.append(("method", self._reason_against_tree))
        refusals = {
            "candidates": "compares all free rows of a finite space",
            "fidelity": "adds an axis to the rows of a finite space",
            "prior": "belongs to the axes of a finite space",
            "learn_from": "learns of the axes of a finite space",
        }
        for key, reason in refusals.items():
            if self._is_set(key):
                sentence = f"{getattr(self, key)} {reason}, but this one is a tree; leave it out"
                faults.append((key, sentence))
        if self.mads and self.mads.extended != Mads().extended:
            sentence = (
                f"{self.mads.extended:g} is a share of the rows of a finite space, but this one is a "
                "tree, whose structures take turns; leave it out"
            )
            faults.append(("mads.extended", sentence))
        if self.mads and self.mads.categories == "reals":
            sentence = (
                "reals is for the axes of a finite space, but this one is a tree; set free or fixed"
            )
            faults.append(("mads.categories", sentence))
        if faults:
            raise PathFaults(faults)
        return self

    @property
    def _reason_against_tree(self) -> str:
        """Why the method does not take this tree, and what to do."""
        header = describe_header(self.model_dump()["space"])
        reason = REASON_AGAINST_TREE[self.method]
        return (
            f"{self.method} {reason}, but this one is a tree ({header}); set method to "
            f"{METHODS_ON_TREES[0]}, or give every variable a list of levels"
        )

    def _refuse_nested_start(self) -> None:
        """Raises ValueError for groups in the start of a finite space."""
        for name, value in self.start.items():
            if isinstance(value, list | dict):
                raise ValueError(
                    f"start: {name}: {show_value(value)}; give a level: a number, a word, or yes or no"
                )

    @model_validator(mode="after")
    def _refuse_keys_of_a_process(self) -> Search:
        """Raises ValueError for settings of a Gaussian process where the method has none.

        Not of random search: it has taken such keys from the first, and configurations have them.
        """
        if self.method in METHODS_WITHOUT_PROCESS:
            process_keys = [key for key in PROCESS_KEYS if self._is_set(key)]
            if self.method == "ensemble-ei":
                process_keys = [key for key in process_keys if key not in ("targets", "per_second")]
            if process_keys:
                pronoun = "them"
                if len(process_keys) == 1:
                    pronoun = "it"
                raise ValueError(
                    f"{', '.join(process_keys)}: for a Gaussian process, but method {self.method} uses "
                    f"none; leave {pronoun} out, or set method to gp-ei"
                )
        if self._is_set("candidates") and self.method != "tpe":
            raise ValueError(
                f"candidates: method {self.method} compares no candidates; leave it out, or set "
                "method to tpe"
            )
        return self

    @model_validator(mode="after")
    def _check_method(self) -> Search:
        """Raises ValueError for settings of an expected improvement, or of distances, that the
        method lacks."""
        if self.per_second and self.method not in METHODS_WITH_IMPROVEMENT:
            raise ValueError(
                f"per_second: {self.method} computes no expected improvement to divide by "
                "seconds; leave it out, or set method to gp-ei"
            )
        if self.target is not None and self.method not in METHODS_WITH_PROBABILITY:
            raise ValueError(
                f"target: {self.method} asks for no probability to reach it; leave it out, or set "
                "method to gp-pi"
            )
        if self.target is not None and self.targets == "ranked":
            raise ValueError(
                "target: targets ranked give no distance to it; leave it out, or set targets to "
                "half-ranked"
            )
        if self._is_set("width") and self.method not in METHODS_WITH_BOUND:
            raise ValueError(
                f"width: {self.method} has no confidence bound; leave it out, or set method to gp-lcb"
            )
        if self.stop_below_regret is not None and (
            self.method in REASON_WITHOUT_REGRET or self.targets == "ranked"
        ):
            reason = REASON_WITHOUT_REGRET.get(self.method, "targets ranked give no distances")
            raise ValueError(
                f"stop_below_regret: {reason}, so the remaining gain is unknown; leave it out, or "
                "set method to gp-ei and targets to half-ranked"
            )
        return self

    @model_validator(mode="after")
    def _check_polling(self) -> Search:
        """Raises ValueError for settings of a poll, or of a global search, that the method
        lacks."""
        polling_keys = [key for key in ("neighbours", "mads") if self._is_set(key)]
        if polling_keys and self.method not in DIRECT_METHODS:
            raise ValueError(
                f"{', '.join(polling_keys)}: method {self.method} does not poll; leave out, or set "
                "method to mads or a-mads"
            )
        default_mads = Mads()
        mads = self.mads or default_mads
        global_keys = [
            key
            for key in ("every", "categories", "target_step")
            if getattr(mads, key) != getattr(default_mads, key)
        ]
        if global_keys and self.method == "mads":
            raise ValueError(
                f"mads.{', mads.'.join(global_keys)}: for a global search, but mads has none; "
                "leave out, or set method to a-mads"
            )
        poll_keys = [
            f"mads.{key}"
            for key in ("order", "speculative", "extended", "every")
            if getattr(mads, key) != getattr(default_mads, key)
        ]
        if self.neighbours:
            poll_keys.append("neighbours")
        if poll_keys and self.method == "a-dogs":
            raise ValueError(
                f"{', '.join(poll_keys)}: for a poll, but a-dogs has none; leave out, or set method "
                "to a-mads"
            )
        return self

    @model_validator(mode="after")
    def _check_ranking(self) -> Search:
        """Raises ValueError for settings of an order or a prior that the method does not learn, or
        a prior that it lacks."""
        if self.ranking and self.method != "ranking":
            raise ValueError(
                f"ranking: method {self.method} learns no order; leave it out, or set method to "
                "ranking"
            )
        prior_keys = [key for key in ("prior", "learn_from") if getattr(self, key)]
        if prior_keys and self.method not in METHODS_WITH_PRIOR:
            raise ValueError(
                f"{', '.join(prior_keys)}: method {self.method} learns nothing from other "
                f"searches; leave out, or set method to {' or '.join(METHODS_WITH_PRIOR)}"
            )
        if not prior_keys and self.method == "gp-rgpe":
            raise ValueError(
                "method: gp-rgpe uses what earlier searches taught; set search.prior or "
                "search.learn_from, or set method to gp-ei"
            )
        if len(prior_keys) > 1:
            raise ValueError(
                "prior, learn_from: a prior is both given and to be learned; leave out one of them"
            )
        return self

    @model_validator(mode="after")
    def _check_spending(self) -> Search:
        """Raises ValueError for settings of rungs that the way of spending, or the method, does not
        use."""
        if self.eta < 2:
            raise ValueError(
                f"eta: {self.eta}: one of eta trainings continues from a rung; set 2 or more, 3 "
                "is usual"
            )
        if self.models == "single" and self.method != "gp-ei":
            raise ValueError(
                f"models: {self.method} has no two that could alternate; leave it out, or set "
                "method to gp-ei"
            )
        if self.choose == "drawn" and self.method not in METHODS_WITH_IMPROVEMENT:
            raise ValueError(
                f"choose: method {self.method} has no expected improvement to draw by; leave it "
                "out, or set method to gp-ei"
            )
        if self.fidelity == "axis" and not self.method.startswith("gp-"):
            raise ValueError(
                f"fidelity: axis: method {self.method} has no model that could use rungs; leave "
                "it out, or set method to gp-ei"
            )
        rung_keys = [
            key
            for key in ("eta", "least_epochs", "reuse", "rung_minutes", "fidelity")
            if self._is_set(key)
        ]
        if self.way_to_spend == "full" and rung_keys:
            raise ValueError(
                f"{', '.join(rung_keys)}: for trainings that are compared before their end, but "
                "spend full trains each to its end; leave out, or set spend to asha"
            )
        if self.way_to_spend != "hyperband" and not self.reuse:
            raise ValueError(
                "reuse: false: only hyperband closes brackets; leave it out, or set spend to "
                "hyperband"
            )
        if self.way_to_spend != "full" and self.stop_below_regret is not None:
            raise ValueError(
                f"stop_below_regret: with spend {self.way_to_spend} scores are of unfinished trainings, "
                "which say nothing about the remaining gain; leave it out, or set spend to full"
            )
        return self
