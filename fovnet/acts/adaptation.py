"""The parts of an adaptation: who is learned from, the trainings, and what their networks answer.

    begun   the ensemble that trainings begin with      users   subjects whose volumes were labelled
    replay  simulated people beside them in trainings   check   simulated people whom no training sees
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.acts.run import Bar, Run
from fovnet.decision import orientation
from fovnet.decision.answer import facts as answer_facts
from fovnet.decision.ensemble import Ensemble, assemble, load, read_rule
from fovnet.decision.fitting.thresholds import Shown
from fovnet.decision.judge import Judge
from fovnet.decision.packed import Scored, decisions, shown_volumes
from fovnet.decision.rule import Rule
from fovnet.decision.scores import with_turned_and_brightened
from fovnet.evaluate.guards import SIMULATED, learned_from
from fovnet.evaluate.reading import case_of
from fovnet.evaluate.tallies import Tally, tally
from fovnet.net.jobs.further import kept_targets, mixed_rows, trained_further
from fovnet.net.jobs.training_data import Labelled, drawn, training_fingerprint
from fovnet.net.jobs.training_job import training_job
from fovnet.net.jobs.workers import TrainingPool
from fovnet.net.training.warm_start import warm_start_ensemble, warm_start_networks
from fovnet.records import digest, read_npz, write_npz
from fovnet.volume.collection.pack import Pack, VolumeRecord

OWN = 0.3
"""Share of the slices drawn in a training that are the user's."""


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What is worked out once for all folds of a run whose slices are cut."""

    run: Run
    pool: TrainingPool
    progress: Bar
    used: set[str] = field(default_factory=set)

    @cached_property
    def pack(self) -> Pack:
        """All slices."""
        return self.run.pack

    @cached_property
    def begun(self) -> tuple[Path, dict[str, Any]]:
        """The folder of the ensemble that trainings begin with, and its facts."""
        found = warm_start_ensemble(self.run.settings)
        assert found is not None, "refused before: `training.begin` is set"
        return found

    @cached_property
    def shows(self) -> dict[str, str]:
        """The regions that each user's volumes show, by subject."""
        found: dict[str, set[str]] = {}
        for index, record in enumerate(self.pack.records):
            if record.collection != SIMULATED and record.labelled and record.status == "ok":
                seen = np.flatnonzero(self._truth(index).any(axis=0))
                found.setdefault(record.subject, set()).update(self.pack.classes[at] for at in seen)
        return {subject: ", ".join(sorted(regions)) for subject, regions in found.items()}

    @cached_property
    def replay(self) -> frozenset[str]:
        """The simulated people beside users in trainings."""
        return self._simulated("train")

    @cached_property
    def check(self) -> frozenset[str]:
        """The simulated people whom no training sees."""
        return self._simulated("validation", "test")

    def _simulated(self, *splits: str) -> frozenset[str]:
        records = self.pack.records
        return frozenset(
            one.subject for one in records if one.collection == SIMULATED and one.split in splits
        )

    def view(
        self, *, train: Collection[str] = (), validation: Collection[str] = (), test: Collection[str] = ()
    ) -> Pack:
        """The slices with these subjects in the splits, and all others in none."""
        split = {
            **dict.fromkeys(train, "train"), **dict.fromkeys(validation, "validation"),
            **dict.fromkeys(test, "test"),
        }

        def placed(record: VolumeRecord) -> VolumeRecord:
            here = split.get(record.subject, "") if record.labelled and record.status == "ok" else ""
            return replace(record, split=here)

        return replace(self.pack, records=tuple(map(placed, self.pack.records)))

    def _truth(self, index: int) -> NDArray[np.bool_]:
        record = self.pack.records[index]
        return self.pack.truth[record.first_row : record.first_row + record.slices]

    def trained(self, users: Collection[str], what: str) -> list[dict[str, Any]]:
        """The facts of the members trained further on these users."""
        settings, folder = self.run.settings, self.run.results.folder / "trainings"
        pack = self.view(train={*users, *self.replay}, validation=self.check)
        data = self._data(pack, users)
        members = warm_start_networks(settings)
        source = digest([training_fingerprint(pack), data.targets[data.train].tobytes().hex(), data.train])
        self.used.add(source[:12])
        folder = folder / source[:12]
        job = training_job(settings, pack, folder, members)
        job = replace(
            job, rows=data.write(folder), source=source, recipe=replace(job.recipe, sampling="slices")
        )
        with self.progress(what) as advance:
            return trained_further(
                self.pool, job, [one.configuration for one in members], seed=settings.seed, progress=advance
            )

    def forget_others(self) -> None:
        """Remove the trainings of earlier calls, with other labels, that this one did not use."""
        for folder in (self.run.results.folder / "trainings").iterdir():
            if folder.name not in self.used:
                rmtree(folder)

    def _data(self, pack: Pack, users: Collection[str]) -> Labelled:
        """Rows and targets of a training on these users."""
        training, seed = self.run.settings.training, self.run.settings.seed
        own, others = (self.view(train=those).rows("train") for those in (users, self.replay))
        targets = (pack.truth / pack.truth.sum(axis=1, keepdims=True).clip(1)).astype(np.float32)
        shown = np.asarray(pack.truth[own].any(axis=0))
        targets[own] = kept_targets(targets[own], self._said_before(self.before, own), shown)
        targets[others] = self._said_before(self.before_of_replay, others)
        rows = mixed_rows(pack.volume, own, others, training.epochs * training.slices_per_epoch, OWN, seed)
        validation = drawn(pack.rows("validation"), training.validation_slices, seed)
        return Labelled(targets, rows, validation, pack.placing)

    def _said_before(self, scored: Scored, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """(r, k) the probabilities of some rows by the networks as they were."""
        given = self.judge(self.begun_rule).raw(scored.outputs.of(np.searchsorted(scored.rows, rows)))
        return given.astype(np.float32)

    @cached_property
    def model(self) -> Ensemble:
        """The ensemble that trainings begin with."""
        return load(self.begun[0], self.run.settings.training.device)

    @cached_property
    def before(self) -> Scored:
        """What its networks say of the users' slices."""
        return self.scored(self.model, self.shows, "networks as they were, your subjects")

    @cached_property
    def before_of_check(self) -> Scored:
        """The same of the simulated people whom no training sees."""
        return self.scored(self.model, self.check, "networks as they were, simulated people")

    @cached_property
    def before_of_replay(self) -> Scored:
        """The same of the slices beside the users' in trainings."""
        what = "networks as they were, slices to learn beside"
        return self.scored(self.model, self.replay, what, whole=False)

    def judge(self, rule: Rule) -> Judge:
        """What makes answers of outputs.  Novelty is left out: it concerns extents alone, and each training
        would need a reference of its own."""
        return Judge(self.run.vocabulary, rule, None, orientation.load(self.begun[0]))

    def scored(self, model: Ensemble, subjects: Collection[str], what: str, *, whole: bool = True) -> Scored:
        """What a model's networks say of the slices of these subjects; kept in a file, so that it is computed
        once.

        whole  also of their volumes turned over, and of dark slices brightened, which answers need
        """
        view = self.view(test=subjects)
        known = digest([model.identity, training_fingerprint(self.view(train=subjects)), whole])
        path = self.run.results.folder / "answers" / f"{known[:16]}.npz"
        with suppress(OSError, ValueError):
            return Scored.read(read_npz(path))
        with self.progress(what) as advance:
            outputs = replace(model, familiar=None).outputs(
                self.pack.pixels, advance, view.rows("test"), self.pack.placing
            )
        weights = model.rule.weights
        made = Scored(view.rows("test"), outputs, weights)
        if whole:
            with self.progress(f"{what}: turned over, brightened") as advance:
                made = with_turned_and_brightened(model, made, view, advance)
        write_npz(path, **made.arrays())
        return made

    def blended(
        self, trained: Sequence[Mapping[str, Any]], share: float, folder: Path, users: Collection[str]
    ) -> Ensemble:
        """The ensemble, new in its folder, of the members' weights with this share, the rest those of
        before; it has no rule yet, but the members' weights in the mean."""
        begun, facts = self.begun
        files = {at: begun / one["weights"] for at, one in enumerate(facts["members"])}
        alone = {at for at, one in enumerate(facts["members"]) if one.get("alone")}
        settings, learned = self.run.settings, self.view(train={*users, *self.replay}, validation=self.check)
        assemble(
            folder, [{**one, **({"alone": True} if one["slot"] in alone else {})} for one in trained],
            self.run.vocabulary, facts["prepare"], settings=settings.ensemble.model_dump(),
            seed=settings.seed, subjects=learned_from(learned, facts, settings.seed),
            precision=facts.get("precision", "float32"), begun=facts, mixed=(share, files),
            inputs=self.pack.inputs,
        )
        return load(folder, settings.training.device, rule=Rule(weights=self.begun_rule.weights))

    @cached_property
    def begun_rule(self) -> Rule:
        """The rule of the ensemble that trainings begin with."""
        return read_rule(self.begun[0])

    def shown(self, scored: Scored, subjects: Collection[str]) -> list[Shown]:
        """The labelled volumes of these subjects, for settling a rule."""
        return shown_volumes(self.view(test=subjects), scored, "test")

    def tallied(self, scored: Scored, judge: Judge, subjects: Collection[str]) -> list[Tally]:
        """The answers on the volumes of these subjects, counted against their labels; by volume_id."""
        view, vocabulary, found = self.view(test=subjects), self.run.vocabulary, []
        index = {record.volume_id: at for at, record in enumerate(view.records)}
        for given, stack, raw in decisions(view, scored, "test", judge):
            body = answer_facts(given, stack, raw, vocabulary)
            if raw is not None:
                found.append(tally(case_of(view, index[given.volume_id], body), vocabulary))
        return sorted(found, key=lambda one: one.case.volume_id)
