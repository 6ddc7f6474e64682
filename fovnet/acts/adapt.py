"""The networks of an ensemble fitted to a user's labelled volumes, if that does them good.

    1  folds of the users: each time the last layers fitted on the others, beside simulated people
    2  the share of the new weights chosen on the users whom the folds left out
    3  the same with all users; of simulated people who were not learned from, no region may be lost
    4  the rule settled on both; what was gained, on users whom neither fit nor choice saw

Every set of outputs is kept, so that the same command goes on after a kill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.acts.adaptation import Adaptation
from fovnet.acts.prepare import simulated, sliced
from fovnet.acts.run import Bar, Run, silent
from fovnet.config.files import parse
from fovnet.config.models import Settings
from fovnet.config.space import MEMBERS
from fovnet.decision import novelty, orientation
from fovnet.decision.fitting.blending import SHARES, best_share, settle_anew, subject_loss
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.folder import ModelFolder, save_rule, seal
from fovnet.decision.judge import Judge
from fovnet.decision.scored_slices import ScoredSlices
from fovnet.errors import CollectionError, ConfigError
from fovnet.evaluate.gains import COLUMNS, SLICES, Gain, certainty, gains, rows_of
from fovnet.evaluate.tallies import Tally
from fovnet.maths.softmax_regression import Layer
from fovnet.net.training.warm_start import warm_start_ensemble
from fovnet.own_files import refuse_foreign
from fovnet.records import copy, write_json, write_tsv
from fovnet.volume.collection.folds import folds_of
from fovnet.volume.collection.preflight import is_missing, missing_files
from fovnet.volume.collection.tables import read_collection
from fovnet.words import several

FEWEST = 5
"""Labelled subjects: with fewer a fold would leave out a fourth of them, and no interval can be given."""
MARGIN = 0.005
"""Most slices, as a share, that may be wrong beyond those before: of simulated people, in all and, where
chance does not explain it, of a region or a kind of picture; and of the users' left out, in all."""
FOLDS = 20
"""Most folds: a subject each up to so many, as a fit takes seconds."""
BARS = 5
"""Bars are chosen anew for so many groups of folds: they take half a minute each, and hardly differ."""
PEOPLE = {
    "subjects": 220,
    "volumes_per_subject": 2,
    "without": ["organs high and low", "open walls", "true places"],
}
SPLIT = (0.27, 0.72, 0.01)
"""As in `configs/adapt.yaml`, which says why."""
TABLE, FACTS = "gains.tsv", "adapted.json"
USERS, SIMULATED_PEOPLE = "your subjects, left out in turn", "simulated people, not learned from"
CLOSE_MM = 260.0  # sides of the square cuts below which a picture is of a part of the body


@dataclass(frozen=True)
class Adapted:
    """The outcome.

    share  of the new weights; 0 where the networks before were kept, and `why` in a sentence
    users, simulated  what changed, on the users' volumes and on the simulated people's; where no share
                      helped, what the least would have changed
    certainty  which of these gains and losses are certain, in a sentence
    lacking    a sentence for each collection of which files are missing
    """

    share: float
    why: str
    subjects: int
    volumes: int
    users: Sequence[Gain]
    simulated: Sequence[Gain]
    certainty: str
    table: Path
    ensemble: Path
    lacking: Sequence[str] = ()


def adapted(run: Run, *, workers: int = 1, progress: Bar = silent, hold: bool = True) -> Adapted:
    """The ensemble of a run, adapted to its collections, with `gains.tsv` and `adapted.json` beside it.

    hold  whether to hold the results folder meanwhile; False where a workflow holds it
    Raises ConfigError "adapt-begin", "adapt-other-regions" and "results-held", CollectionError "adapt-few",
    and as the act that prepares slices.
    """
    lacking = _refuse_unfit(run)  # before the lock, which is a file
    with run.results.held() if hold else nullcontext():
        return replace(_adapted(run, workers, progress), lacking=lacking)


def _adapted(run: Run, workers: int, progress: Bar) -> Adapted:
    if run.results.is_to_simulate(run.settings.phantom.subjects):
        simulated(run, workers, progress)
    sliced(run, workers=workers, progress=progress)
    work = Adaptation(run, progress)
    refuse_few(len(work.shows), "could be read")
    return _Folds(work).concluded()


def settings_for(labels: Path, out: Path, begun: Path, seed: int) -> Settings:
    """The settings of `configs/adapt.yaml` for these labels and networks: slices are cut as they were for
    these."""
    facts = ModelFolder(begun).facts
    return parse(
        {
            "results": str(out),
            "collections": {"labels": str(labels)},
            "seed": seed,
            "phantom": PEOPLE,
            "prepare": {**facts["prepare"], "split": SPLIT},
            "training": {"begin": str(begun)},
            "search": {"space": MEMBERS},
            "ensemble": {"precision": facts.get("precision", "float32")},
            "decision": {"stated_error": 0.03},
        },
        "adapt",
    )


def refuse_few(subjects: int, what: str, lacking: Sequence[str] = ()) -> None:
    """Raise CollectionError "adapt-few" for fewer than FEWEST labelled subjects; `lacking` are sentences that
    may say why."""
    if subjects < FEWEST:
        reasons = "".join(f"{sentence}. " for sentence in lacking)
        raise CollectionError(
            "adapt-few",
            f"{reasons}{several(subjects, 'labelled subject')} {what}, at least {FEWEST} are wanted: with "
            "fewer nobody could tell whether networks trained on them got better or worse at other people. "
            f"Label volumes of {FEWEST - subjects} more; those there are can tell how right the networks are "
            "(`fovnet examine ANSWERS --truth TABLES --out examined`).",
        )


def _refuse_unfit(run: Run) -> list[str]:
    """A sentence for each collection of which files are missing.  Raises as `adapted`, before anything is
    simulated, which takes minutes, or written."""
    refuse_foreign(run.results.ensemble, lambda folder: (folder / "ensemble.json").exists())
    begun = warm_start_ensemble(run.settings)
    if begun is None:
        raise ConfigError(
            "adapt-begin",
            f"{run.config}: training.begin is not set; name the networks to be adapted, such as shipped, and "
            "set search.space: members (configs/adapt.yaml has both)",
        )
    theirs = ModelFolder(begun[0]).vocabulary.classes
    if theirs != run.vocabulary.classes:
        raise ConfigError(
            "adapt-other-regions",
            f"{begun[0]}: its networks name {', '.join(theirs)}, and `regions` "
            f"{', '.join(run.vocabulary.classes)}, where the same are wanted; the workflow learns new ones "
            "(configs/README.md)",
        )
    tables = {
        name: read_collection(Path(folder), run.vocabulary)
        for name, folder in run.settings.collections.items()
    }
    labelled = [
        (name, row)
        for name, table in tables.items()
        for row in table.volumes
        if table.regions.get(row.volume_id)
    ]
    refuse_few(len({(name, row.subject_id) for name, row in labelled}), "in the tables")
    lacking = missing_files(tables)
    present = {(name, row.subject_id) for name, row in labelled if not is_missing(row)}
    refuse_few(len(present), "with a file", lacking)
    return lacking


@dataclass(frozen=True, eq=False)
class _Tried:
    """Networks with a share of what was learned of all users, and their rule; what they say of the simulated
    people."""

    folder: Path
    scored: ScoredSlices
    judge: Judge
    found: Mapping[str, Any]


class _Folds:
    """The folds of an adaptation, fitted and scored."""

    def __init__(self, work: Adaptation) -> None:
        self.work, self.seed = work, work.run.settings.seed
        self.folds = folds_of(work.shows, self.seed, FOLDS)
        self.subjects = sorted(work.shows)
        self.outputs = [self._of_fold(number) for number in range(len(self.folds))]
        self.losses = self._losses()

    def _of_fold(self, number: int) -> list[ScoredSlices]:
        """What the networks fitted without a fold say of its subjects, by share; the first are those
        before."""
        left_out, name = self.folds[number], f"fold {number + 1} of {len(self.folds)}"
        users, found = self.work.shows.keys() - left_out, [self.work.before]
        fitted = self.work.fitted(users)
        for share in SHARES[1:]:
            with TemporaryDirectory() as place:
                model = self.work.blended(fitted, share, Path(place), users)
                found.append(self.work.scored(model, left_out, f"{name}, share {share:g}"))
        return found

    def _losses(self) -> NDArray[np.float64]:
        """(m, j) the loss of every share on every subject, each left out of the fit."""
        judge, found = (
            self.work.judge(self.work.begun_model.rule),
            np.zeros((len(SHARES), len(self.subjects))),
        )
        for left_out, outputs in zip(self.folds, self.outputs, strict=True):
            for place, scored in enumerate(outputs):
                for subject in left_out:
                    shown = self.work.shown(scored, {subject})
                    found[place, self.subjects.index(subject)] = subject_loss(
                        [judge.probabilities(one.outputs) for one in shown],
                        [one.truth for one in shown],
                    )
        return found

    def share_of_fold(self, number: int, most: int) -> int:
        """The place of the share for a fold, chosen on the subjects of the others."""
        without = np.array([subject in self.folds[number] for subject in self.subjects])
        return min(best_share(self.losses, without), most)

    def shown(self, most: int, without: Sequence[int] = ()) -> list[LabelledVolume]:
        """The users' volumes with the outputs of the networks that did not see them, those of some folds left
        out."""
        return [
            one
            for number, left_out in enumerate(self.folds)
            if number not in without
            for one in self.work.shown(
                self.outputs[number][self.share_of_fold(number, most)], left_out
            )
        ]

    def concluded(self) -> Adapted:
        """The outcome, the ensemble in its place: the networks before where the new ones are worse."""
        most, whys = best_share(self.losses), []
        changed: dict[str, Sequence[Gain]] = {USERS: (), SIMULATED_PEOPLE: ()}
        for place in range(most, 0, -1):
            tried = self._tried(place)
            changed = self._changed(tried, place)
            worse = [
                *_lost(changed[SIMULATED_PEOPLE], SIMULATED_PEOPLE),
                *_lost(changed[USERS][:1], USERS),
            ]
            if not worse:
                return self._written(tried, SHARES[place], "", changed)
            whys.append(f"with {SHARES[place]:.0%} of the new weights {'; '.join(worse)}")
        if not most:
            changed[USERS] = self._of_least_share()
            before, least = self.losses.mean(axis=1)[:2]
            whys.append(
                f"{USERS}, were answered no better with any share of the new weights (log loss {before:.3f} "
                f"before, {least:.3f} with {SHARES[1]:.0%})"
            )
        return self._written(None, 0.0, ". ".join(whys), changed)

    def _of_least_share(self) -> list[Gain]:
        """What the least share would change on the users' volumes, by the rule as it was."""
        old, after = self.work.judge(self.work.begun_model.rule), []
        for left_out, outputs in zip(self.folds, self.outputs, strict=True):
            after += self.work.tallied(outputs[1], old, left_out)
        before = self.work.tallied(self.work.before, old, self.work.shows)
        return self._gains(before, sorted(after, key=lambda one: one.case.volume_id))

    def _changed(self, tried: _Tried, place: int) -> dict[str, Sequence[Gain]]:
        """What the share at this place changes, on the users' volumes and on the simulated people's."""
        work = self.work
        old = work.judge(work.begun_model.rule)
        before = work.tallied(work.before, old, work.shows)
        simulated_before = work.tallied(work.before_of_check, old, work.check)
        simulated_after = work.tallied(tried.scored, tried.judge, work.check)
        return {
            USERS: self._gains(before, self._answered(tried, place)),
            SIMULATED_PEOPLE: self._gains(simulated_before, simulated_after),
        }

    @cached_property
    def _of_all(self) -> list[Layer]:
        """The last layers fitted on all users."""
        return self.work.fitted(self.work.shows.keys())

    def _tried(self, place: int) -> _Tried:
        """The ensemble of all users with the share at this place."""
        work, folder = self.work, self.work.run.results.folder / "candidate"
        model = work.blended(self._of_all, SHARES[place], folder, work.shows.keys())
        scored = work.scored(model, work.check, f"all subjects, share {SHARES[place]:g}")
        for name in (novelty.FILE, orientation.FILE):  # neither depends on last layers
            if (work.begun[0] / name).exists():
                copy(work.begun[0] / name, folder / name)
        shown = [*work.shown(scored, work.check), *self.shown(place)]
        judge, abstention, statements = settle_anew(
            work.judge(work.begun_model.rule), shown, **self._promises
        )
        return _Tried(folder, scored, judge, {"abstention": abstention, "statements": statements})

    @property
    def _promises(self) -> dict[str, Any]:
        decision = self.work.run.settings.decision
        return {
            "stated_error": decision.stated_error,
            "statement_error": decision.statement_error,
            "at_risk": decision.at_risk,
            "seed": self.seed,
        }

    def _answered(self, tried: _Tried, most: int) -> list[Tally]:
        """The users' volumes, each answered by networks and a rule that did not see its fold."""
        work, found = self.work, []
        simulated_ones = work.shown(tried.scored, work.check)
        for together in np.array_split(np.arange(len(self.folds)), BARS):
            without = together.tolist()
            judge, *_ = settle_anew(
                work.judge(work.begun_model.rule),
                [*simulated_ones, *self.shown(most, without)],
                **self._promises,
            )
            for number in without:
                scored = self.outputs[number][self.share_of_fold(number, most)]
                found += work.tallied(scored, judge, self.folds[number])
        return sorted(found, key=lambda one: one.case.volume_id)

    def _gains(self, before: Sequence[Tally], after: Sequence[Tally]) -> list[Gain]:
        return gains(
            before,
            after,
            self.work.run.vocabulary,
            seed=self.seed,
            kinds=[_kind(one) for one in before],
            repeats=self.work.run.settings.evaluate.bootstrap,
        )

    def _written(
        self, tried: _Tried | None, share: float, why: str, changed: Mapping[str, Sequence[Gain]]
    ) -> Adapted:
        """The ensemble put in its place, the tables, and the outcome."""
        results, settings = self.work.run.results, self.work.run.settings
        if tried is None:
            _copied(self.work.begun[0], results.folder / "candidate")
        else:
            options = settings.decision.model_dump()
            save_rule(tried.folder, tried.judge.rule, tried.found, settings=options, seed=self.seed)
            seal(tried.folder)
        _put(results.folder / "candidate", results.ensemble)
        rows = [row for on, found in changed.items() for row in rows_of(on, found)]
        table = write_tsv(results.folder / TABLE, COLUMNS, rows)
        slices = self.work.view(test=self.work.shows).rows("test")
        volumes = int(np.unique(self.work.pack.volume[slices]).size)
        facts = {
            "share": share,
            "kept_because": why,
            "subjects": len(self.subjects),
            "certainty": certainty(changed),
            "losses": dict(zip(map(str, SHARES), self.losses.mean(axis=1), strict=True)),
            "folds": [len(fold) for fold in self.folds],
            "margin": MARGIN,
            "gains": rows,
        }
        write_json(
            results.folder / FACTS, facts, settings=settings.model_dump(mode="json"), seed=self.seed
        )
        return Adapted(
            share,
            why,
            len(self.subjects),
            volumes,
            changed[USERS],
            changed[SIMULATED_PEOPLE],
            certainty(changed),
            table,
            results.ensemble,
        )


def _kind(one: Tally) -> str:
    """The kind of picture a volume is: its plane, and whether it shows a part of the body closely."""
    plane = one.case.attributes.get("plane") or "isotropic"
    return f"{plane}, close" if one.case.side_mm < CLOSE_MM else plane


def _lost(changed: Sequence[Gain], on: str) -> list[str]:
    """A sentence on all that is lost: more than MARGIN of the slices are wrong that were right before, of all
    or, beyond chance, of a region or of a kind of picture.

    Of 15 regions and kinds one or two always look worse: one volume of one person in 158, answered otherwise,
    was 1.7 points of the heads.  Fewer statements decided are no such loss, however certain: of 158 people a
    point or two is, while of five or six users hardly any gain can be.  `certainty` tells it, and whoever
    asked decides.
    """
    lost = []
    for one in (each for each in changed if each.measure == SLICES):
        found, part = one.difference, one.region or one.kind
        if found.difference > MARGIN and (not part or (found.low is not None and found.low > 0)):
            of = f"{one.of_after:,} slices ({part or 'all'})"
            now, before = 100 * found.second, 100 * found.first
            lost.append(f"{now:.1f} % of {of} of {on} are wrong, {before:.1f} % before")
    return lost


def _copied(begun: Path, folder: Path) -> None:
    """An ensemble's files as they are."""
    rmtree(folder, ignore_errors=True)
    for path in sorted(begun.iterdir()):
        if path.is_file():
            copy(path, folder / path.name)


def _put(made: Path, place: Path) -> None:
    """Move a finished ensemble to its place; an earlier one gives way."""
    before = place.with_name(f"{place.name}.before")
    rmtree(before, ignore_errors=True)
    if place.exists():
        place.rename(before)
    made.rename(place)
    rmtree(before, ignore_errors=True)
