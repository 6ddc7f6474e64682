"""The ensemble: the networks of the best trials, how their input slices are prepared, and the rule from their
outputs to spans.

On disk a folder: `ensemble.json` (vocabulary, preparation, members), `member-<slot>.safetensors` one each,
`decision.json` (the rule, including the members' weights), `novelty.npz` (the novelty reference),
`orientation.safetensors` (the network for the body's orientation), `weighing.json` (how the weights were
found), `SHA256SUMS` of all these. Prediction needs nothing else, and the folder can be moved or sent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision import dark_slices, novelty, orientation
from fovnet.decision.chain.margins import empty
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.member_weights import Weighing
from fovnet.decision.novelty import REFERENCE, Familiar, familiar
from fovnet.decision.orientation import Orientation
from fovnet.decision.parts import (
    AGAIN,
    MOST_NETWORK_BYTES,
    SUMS,
    facts_in,
    part,
    refuse_altered,
    refuse_not_finite,
    unspoiled,
    write_sums,
)
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.machine.threads import one_thread
from fovnet.maths.ladder import Height
from fovnet.records import checksum, write_json
from fovnet.regions import Region, Vocabulary
from fovnet.results import SHIPPED_NETWORKS
from fovnet.search.trial import Trial, best
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE
from fovnet.volume.slices.stack import SliceStack, Slicing, slice_format

# torch takes 1.2 s to import; reading the facts of an ensemble does not need it
if TYPE_CHECKING:
    import torch
    from torch import nn

    from fovnet.net.inference.engines import Engine

FACTS, RULE, WEIGHING, MAKING = "ensemble.json", "decision.json", "weighing.json", ".members-"
BESIDE = (FACTS, RULE, WEIGHING, novelty.FILE, orientation.FILE, SUMS)  # files beside the members
MOST = 1e4  # millimetres or degrees, of a setting of the slices
# slices at a time: their features take 51 MB for ten members of five blocks of 256 filters
PIECE = 1024


@dataclass(frozen=True)
class Ensemble:
    """Networks and their judge.  `prepare` are the settings its slices were cut with; `identity` changes when
    a file of it does.

    engine  what computes the members' outputs, not part of the identity; None: torch
    name    for people: of its run, or that it comes with the package, and which fovnet made it
    """

    vocabulary: Vocabulary
    prepare: Mapping[str, Any]
    rule: Rule
    members: Sequence[nn.Module]
    device: torch.device
    identity: str
    familiar: Familiar | None = None
    engine: Engine | None = None
    orientation: Orientation | None = None
    name: str = ""

    @property
    def computed_by(self) -> dict[str, str] | None:
        """Name and version of the engine; None if none was chosen."""
        return (
            None
            if self.engine is None
            else {"name": self.engine.name, "version": self.engine.version}
        )

    @property
    def judge(self) -> Judge:
        """What turns the members' outputs into an answer."""
        return Judge(self.vocabulary, self.rule, self.familiar, self.orientation)

    @property
    def sees_the_volume(self) -> bool:
        """Whether the members' probabilities of a slice depend on the other slices of its volume."""
        from fovnet.net.family.architecture import OF_THE_VOLUME
        from fovnet.net.images.inputs import inputs_of

        return not set(OF_THE_VOLUME).isdisjoint(inputs_of(self.members))

    @one_thread()
    def outputs(
        self,
        pixels: NDArray[np.uint8],
        progress: Callable[[int, int], Any] | None = None,
        rows: NDArray[np.int64] | None = None,
        placing: Placing | None = None,
    ) -> MemberOutputs:
        """The members' outputs on slices (s, 128, 128), or on some `rows` of them, PIECE at a time: features
        of all would not fit.

        placing  of all the slices, if the members' inputs need it
        Raises ModelError "model-overflow" if they are not all finite numbers: finite weights may still be
        senseless.
        """
        from fovnet.net.inference.member_outputs import member_answers

        wanted = np.arange(len(pixels)) if rows is None else rows
        answers, distances = [], []
        for start in range(0, len(wanted), PIECE):
            piece = wanted[start : start + PIECE]
            report = _shifted(progress, start, len(wanted))
            probabilities, features = member_answers(
                self.members, pixels, self.device, report, piece, placing, engine=self.engine
            )
            _refuse_overflow("probabilities", probabilities)
            answers.append(probabilities)
            if self.familiar is not None:
                distances.append(self.familiar.distances(features))
                _refuse_overflow("distances from the training slices", distances[-1])
        return MemberOutputs(
            np.concatenate(answers, axis=1), np.concatenate(distances) if distances else None
        )

    def outputs_on(self, stack: SliceStack) -> MemberOutputs:
        """The members' outputs on a volume, on the volume turned over and on its dark slices brightened,
        where needed."""
        outputs = self.turned_over(self.outputs(stack.pixels, placing=stack.placing), stack)
        return self.with_dark_brightened(outputs, stack)

    def turned_over(self, outputs: MemberOutputs, stack: SliceStack) -> MemberOutputs:
        """The outputs on a volume, with those on the volume turned over added if they depend on its other
        slices and name several regions.

        Networks that see a slice's height in the volume rely on it, and label an upside-down body as if it
        were upright.
        """
        named = np.unique(self.judge.raw(outputs).argmax(axis=1))
        if not self.sees_the_volume or (named < len(self.vocabulary.chain)).sum() < 2:
            return outputs
        over = replace(stack, pixels=stack.pixels[::-1], z_mm=-stack.z_mm[::-1])
        return replace(
            outputs,
            turned=replace(self, familiar=None).outputs(over.pixels, placing=over.placing).members,
        )

    def with_dark_brightened(self, outputs: MemberOutputs, stack: SliceStack) -> MemberOutputs:
        """The outputs on a volume, with those on its dark slices brightened added if they seem to show
        nothing: see `dark_slices`."""
        nothing = (
            self.judge.raw(outputs).argmax(axis=1) == len(self.vocabulary.classes) - 1
        ) | empty(stack.pixels)
        rows = dark_slices.in_question(stack.pixels, nothing, stack.edges_mm)
        if not len(rows):
            return outputs
        members = np.full_like(outputs.members, np.nan)
        brighter = dark_slices.brightened(stack.pixels)
        members[:, rows] = (
            replace(self, familiar=None).outputs(brighter, None, rows, stack.placing).members
        )
        return replace(outputs, brightened=members)

    def refuse_unfit(self) -> None:
        """Raises ModelError, or any exception, unless all parts work together: tried on a slice of noise."""
        noise = np.random.default_rng(0).integers(0, 256, (1, SIDE, SIDE)).astype(np.uint8)
        placing = Placing(np.full(1, 400.0), np.zeros(1, dtype=np.int64), np.zeros(1))
        shape, wanted = (
            self.outputs(noise, placing=placing).members.shape,
            (len(self.members), 1, len(self.vocabulary.classes)),
        )
        if shape != wanted:
            raise ModelError(
                "weights-misfit",
                f"the networks' outputs have the shape {shape}, not {wanted}; {AGAIN}",
            )
        if self.orientation is not None:
            self.orientation.turns(np.broadcast_to(noise, (1, 3, 3, SIDE, SIDE)))

    def learn(
        self,
        pixels: NDArray[np.uint8],
        rows: NDArray[np.int64],
        truth: NDArray[np.bool_],
        *,
        seed: int,
        placing: Placing | None = None,
    ) -> Ensemble:
        """The ensemble with a novelty reference, from at most REFERENCE of the training slices `rows` (n,),
        drawn by the seed; their labels are `truth` (n, k)."""
        from fovnet.net.inference.member_outputs import member_answers

        drawn = np.sort(np.random.default_rng(seed).permutation(len(rows))[:REFERENCE])
        features = member_answers(self.members, pixels, self.device, None, rows[drawn], placing)[1]
        return replace(self, familiar=familiar(features, truth[drawn]))


def _refuse_overflow(what: str, numbers: NDArray[np.floating]) -> None:
    """Raises ModelError "model-overflow" for numbers that are not all finite."""
    if not np.isfinite(numbers).all():
        raise ModelError(
            "model-overflow",
            f"the networks' {what} are not finite here: the weights are damaged, or the training diverged; "
            f"{AGAIN}, or use another model",
        )


def _shifted(
    progress: Callable[[int, int], Any] | None, start: int, total: int
) -> Callable[[int, int], Any] | None:
    """The callback for a piece that begins at `start`, reporting progress of the whole."""
    return progress and (lambda done, _: progress(start + done, total))


def assemble(
    folder: Path,
    members: Sequence[Mapping[str, Any]],
    vocabulary: Vocabulary,
    prepare: Mapping[str, Any],
    *,
    settings: Any,
    seed: int,
    subjects: Mapping[str, Sequence[str]] | None = None,
    precision: str = "float32",
    begun: Mapping[str, Any] | None = None,
    mixed: tuple[float, Mapping[int, Path]] | None = None,
    inputs: Mapping[str, Any] | None = None,
    journal: str = "",
) -> Path:
    """`folder/ensemble.json`, with each member's weights copied beside it.

    members  facts of each (slot, score, configuration, ...), and under "weights" the file written by its
             training
    precision  float32, or float16 for half the size: all later steps use the rounded networks
    subjects  marks of the subjects they were trained on, by split: an evaluation can check that none of them
              is in the test split
    begun  facts of the ensemble that the trainings started from, if any: its networks' checksums are recorded
    mixed  for blending: the share of the trained weights, and by slot the file of the network trained from;
           None: no blending
    inputs  classes and format of the slices to be scored, as a pack has them; None: they are not compared
    journal the name of the journal of the members' search
    An existing ensemble is kept until all members of the new one are written.  Raises ModelError if there is
    no member, or the weights of one are missing, damaged, of other slices or too large for the precision.
    """
    from fovnet.net.training.precision import write_weights

    if not members:
        raise ModelError(
            "ensemble-empty",
            "no trial completed, so there are no members; trials.tsv in the search's folder says why each "
            "failed: allow more memory, more time or more trials",
        )
    _refuse_unusable([Path(member["weights"]) for member in members], inputs)
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{MAKING}*"):  # of a run that was killed
        rmtree(left)
    facts = []
    with TemporaryDirectory(prefix=MAKING, dir=folder) as made:
        for member in members:
            name = f"member-{member['slot']:04d}.safetensors"
            before = None if mixed is None else (mixed[0], mixed[1][member["slot"]])
            path = write_weights(
                Path(member["weights"]),
                Path(made) / name,
                precision,
                alone=member.get("alone", False),
                mixed=before,
            )
            facts.append({**member, "weights": name, "sha256": checksum(path)})
        for stale in (*folder.glob("member-*.safetensors"), *(folder / name for name in BESIDE)):
            # a rule tuned for other members must not survive them
            stale.unlink(missing_ok=True)
        for member in facts:
            (Path(made) / member["weights"]).replace(folder / member["weights"])
    regions = [asdict(region) for region in vocabulary.regions]
    body: dict[str, Any] = {
        "classes": vocabulary.classes,
        "regions": regions,
        "prepare": dict(prepare),
        "members": facts,
        "precision": precision,
        **({"journal": journal} if journal else {}),
    }
    if begun is not None:
        body["begun_with"] = {
            "networks": [member["sha256"] for member in begun["members"]],
            "people": _counted(begun),
        }
    if subjects is not None:
        body["subjects"] = {split: list(marks) for split, marks in subjects.items()}
    return write_json(folder / FACTS, body, settings=settings, seed=seed)


def _refuse_unusable(networks: Sequence[Path], inputs: Mapping[str, Any] | None) -> None:
    """Raises ModelError for the first of a journal's networks that is missing or damaged, with the slot to
    repeat, or has other inputs."""
    from fovnet.net.family.weights import load_facts, refuse_other_inputs
    from fovnet.search.journal import (
        to_repeat,
    )  # all search methods, 0.6 s that no prediction needs

    for path in networks:
        try:
            facts = load_facts(path)
        except ModelError as fault:
            raise ModelError(
                fault.code,
                f"{path}: missing or damaged; {to_repeat(path.parent.parent / f'{path.stem}.json')}",
            ) from fault
        if inputs is not None:
            refuse_other_inputs(path, facts, inputs["classes"], inputs["slices"])


def _counted(facts: Mapping[str, Any]) -> dict[str, int]:
    """The number of subjects an ensemble was trained on, by split, whether it holds their marks or their
    number."""
    return facts.get("people") or {
        split: len(marks) for split, marks in (facts.get("subjects") or {}).items()
    }


def choose(
    trials: Sequence[Trial], count: int, guess: float, networks: Path, alone: int = 0
) -> list[dict[str, Any]]:
    """Facts of the `count` best completed trials that are better than guessing; if none is, of the best trial
    alone.

    guess  the validation loss of guessing, as `guessing_loss` gives it
    alone  number of members, the last, that see the slice alone; the best member always sees all its inputs
    """
    leading = best(trials, count)
    members = [
        trial for trial in leading if trial.score is not None and trial.score < guess
    ] or leading[:1]
    all_shown = max(1, len(members) - alone)
    return [
        {
            "slot": trial.proposal.slot,
            "score": trial.score,
            "configuration": dict(trial.proposal.configuration),
            "seed": trial.proposal.seed,
            "weights": str(networks / f"slot-{trial.proposal.slot:04d}.safetensors"),
            **({"alone": True} if place >= all_shown else {}),
        }
        for place, trial in enumerate(members)
    ]


def guessing_loss(
    train: NDArray[np.bool_], validation: NDArray[np.bool_], often: torch.Tensor | None = None
) -> float:
    """The validation loss of predicting the uniform distribution over the classes of the training split (s,
    k) for every slice.

    Mean of Σ_c w_c t_c · log k_seen under the balanced weights w of the training split; log k_seen where the
    splits' shares agree.
    often  (s,) frequency with which training draws each slice (`sampling: volumes` is not uniform): class
           weights are computed with it
    """
    import torch

    from fovnet.net.training.train import class_weights
    from fovnet.net.training.train import guessing_loss as of_targets

    learned, judged = (
        torch.from_numpy(truth / truth.sum(axis=1, keepdims=True)) for truth in (train, validation)
    )
    return of_targets(
        judged, class_weights(learned, None if often is None else often.to(learned.dtype))
    )


def facts_of(folder: Path) -> dict[str, Any]:
    """The contents of `ensemble.json`.  Raises ModelError ("model-missing") if the folder is not an ensemble,
    and as `part`."""
    try:
        return facts_in(folder, FACTS)
    except (OSError, ValueError):
        seen = f"no readable {FACTS} in it" if folder.is_dir() else "no such folder"
        raise ModelError(
            "model-missing",
            f"{folder}: {seen}; give the folder `ensemble` that a run of the workflow or `fovnet adapt` "
            "wrote, or none, for the networks that come with the package",
        ) from None


def vocabulary_of(facts: Mapping[str, Any]) -> Vocabulary:
    """The vocabulary an ensemble was trained with.  Raises ValueError for a colour that is not # and six
    hexadecimal digits, and for other values of another type than a region's."""
    regions = [
        Region(**{**region, "synonyms": tuple(region["synonyms"])}) for region in facts["regions"]
    ]
    for region in regions:
        if not re.fullmatch("#[0-9a-fA-F]{6}", str(region.colour)):
            raise ValueError(
                f"the colour of {region.name!r} is {region.colour!r}; give # and six digits"
            )
        texts = (
            region.name,
            region.sct,
            region.body_part,
            region.level,
            region.meaning,
            *region.synonyms,
        )
        if not all(isinstance(text, str) for text in texts) or not isinstance(
            region.rung, int | None
        ):
            raise ValueError(f"{region} has values of another type")
    return Vocabulary(tuple(regions))


def _slicing_of(facts: Mapping[str, Any]) -> Slicing:
    """The settings that an ensemble's slices are cut with.  Raises TypeError or ValueError for an unknown or
    senseless one."""
    slicing = Slicing(**facts["prepare"])
    for name, usual in asdict(Slicing()).items():
        value = getattr(slicing, name)
        if isinstance(value, bool) != isinstance(usual, bool) or not 0 <= value <= MOST:
            raise ValueError(f"{name} is {value!r}, not a value like {usual!r}")
    return slicing


def save_weighing(folder: Path, found: Weighing, *, settings: Any, seed: int) -> Path:
    """`folder/weighing.json`: the members' slots and weights, and the losses of every way of weighing."""
    slots = [member["slot"] for member in facts_of(folder)["members"]]
    return write_json(
        folder / WEIGHING, {"slots": slots, **asdict(found)}, settings=settings, seed=seed
    )


def save_rule(
    folder: Path, rule: Rule, facts: Mapping[str, Any], *, settings: Any, seed: int
) -> Path:
    """`folder/decision.json`: the rule, and how it was found.  A SHA256SUMS of the parts before is removed:
    see `seal`."""
    (folder / SUMS).unlink(missing_ok=True)
    return write_json(folder / RULE, {"rule": asdict(rule), **facts}, settings=settings, seed=seed)


def seal(folder: Path) -> Path:
    """`folder/SHA256SUMS` of the parts of a finished ensemble, by which `load` knows them again."""
    members = [member["weights"] for member in facts_of(folder)["members"]]
    return write_sums(
        folder, [name for name in (*BESIDE, *members) if name != SUMS and (folder / name).exists()]
    )


def read_rule(folder: Path) -> Rule:
    """The rule in `folder/decision.json`.  Raises ModelError ("rule-missing") if there is none that can be
    read, and as `part`."""
    try:
        rule = facts_in(folder, RULE)["rule"]
        if not isinstance(rule["heights"], list):
            raise TypeError("heights are no list")
        heights = tuple(None if height is None else Height(**height) for height in rule["heights"])
        lists = {name: tuple(value) for name, value in rule.items() if isinstance(value, list)}
        return Rule(**{**rule, **lists, "heights": heights})
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelError(
            "rule-missing", f"{folder / RULE}: missing or unreadable; `fovnet tune` makes it"
        ) from None


def load(
    folder: Path, device: str = "auto", *, rule: Rule | None = None, engine: str = "torch"
) -> Ensemble:
    """The ensemble in a folder, its networks ready on a device.

    rule  used instead of decision.json, which does not exist before tuning
    engine  what computes the outputs, a name of `fovnet.net.inference.engines`; training and tuning always
            use torch
    Raises ModelError if a part is missing, damaged or senseless, leads out of the folder, or is not the
    recorded one; if a network was trained for other classes, on slices of another format than those that will
    be cut for it, or with other inputs than the other members; and if the parts do not work together on a
    slice of noise.
    """
    from fovnet.net.inference.engines import engine_of
    from fovnet.net.training.train import choose_device

    facts, where = facts_of(folder), choose_device(device)
    with unspoiled(folder), np.errstate(over="ignore", invalid="ignore"):
        loaded = _loaded(folder, facts, where, rule)
        _refuse_unfit(folder, loaded)
    return replace(
        loaded, engine=engine_of(engine, loaded.members, where), name=_name_of(folder, facts)
    )


def _name_of(folder: Path, facts: Mapping[str, Any]) -> str:
    """ "the networks that come with fovnet, made by fovnet 0.1.0": whose networks they are, and the version
    that made them where the facts tell it; a run's `ensemble` has the name of the run's folder."""
    folder = folder.resolve()
    name = folder.parent.name if folder.name == "ensemble" else folder.name
    if folder == SHIPPED_NETWORKS.resolve():
        name = "the networks that come with fovnet"
    stamp = facts.get("fovnet")
    version = stamp.get("version") if isinstance(stamp, Mapping) else None
    return f"{name}, made by fovnet {version}" if version else name


def _loaded(
    folder: Path, facts: Mapping[str, Any], where: torch.device, rule: Rule | None
) -> Ensemble:
    """The ensemble of these parts, each checked by itself; no engine yet."""
    from fovnet.net.images.inputs import inputs_of

    try:
        vocabulary, wanted = vocabulary_of(facts), slice_format(_slicing_of(facts))
        files = [(member["weights"], member["sha256"]) for member in facts["members"]]
    except (KeyError, TypeError, ValueError) as fault:
        raise ModelError(
            "model-damaged", f"{folder / FACTS}: not as fovnet writes it ({fault!r}); {AGAIN}"
        ) from fault
    if not files:
        raise ModelError("model-damaged", f"{folder / FACTS}: it names no networks; {AGAIN}")
    members = [
        _member(folder, name, sha256, where, vocabulary.classes, wanted) for name, sha256 in files
    ]
    inputs_of(members)
    read = None if rule else facts_in(folder, RULE) if (folder / RULE).exists() else None
    rule = rule or read_rule(folder)
    rule.refuse_unsound(folder / RULE, len(members), len(vocabulary.chain))
    for name, part_facts in ((FACTS, facts), (RULE, read or {})):
        refuse_not_finite(folder / name, part_facts)
    for name, judged in (
        (novelty.FILE, rule.least_novelty),
        (orientation.FILE, rule.least_upright),
    ):
        if judged and not os.path.lexists(folder / name):
            raise ModelError(
                "model-part-missing", f"{folder / name}: missing, but needed by {RULE}; {AGAIN}"
            )
    known, bearing = novelty.load(folder), orientation.load(folder)
    if rule.least_novelty and known and not len(known.known):
        raise ModelError(
            "novelty-damaged",
            f"{folder / novelty.FILE}: without validation slices, but {RULE} needs them; {AGAIN}",
        )
    sums = {
        name: checksum(path)
        for name in (FACTS, RULE, novelty.FILE, orientation.FILE)
        if (path := part(folder, name)).exists()
    }
    refuse_altered(folder, sums | dict(files))
    identity = "".join(one[:16] for one in sums.values())
    return Ensemble(
        vocabulary, facts["prepare"], rule, members, where, identity, known, None, bearing
    )


def _member(
    folder: Path,
    name: str,
    sha256: str,
    where: torch.device,
    classes: Sequence[str],
    wanted: Mapping[str, Any],
) -> nn.Module:
    """The network in a part, if it is the recorded one, of these classes and for slices of the wanted
    format."""
    from fovnet.net.family.weights import load_network, refuse_other_inputs

    path = part(folder, name, MOST_NETWORK_BYTES)
    if not path.exists() or checksum(path) != sha256:
        raise ModelError(
            "weights-damaged", f"{path}: missing, or not the file recorded in {FACTS}; {AGAIN}"
        )
    network, trained = load_network(path, where)
    refuse_other_inputs(path, trained, classes, wanted)
    return network


def _refuse_unfit(folder: Path, loaded: Ensemble) -> None:
    """As `Ensemble.refuse_unfit`, with the folder named."""
    try:
        loaded.refuse_unfit()
    except ModelError as fault:
        raise ModelError(fault.code, f"{folder}: {fault.sentence}") from fault
