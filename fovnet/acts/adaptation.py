"""The parts of an adaptation: who is learned from, the networks' last layers fitted anew, and what networks
with them answer.

    begun   the ensemble that is adapted                    users  subjects whose volumes were labelled
    replay  simulated people who are learned beside them    check  simulated people who are not
    n       slices        f  features that a last layer is given        k  classes        p  networks

Only last layers change: on a simulated site (a scanner with contrasts and coils of its own) five labelled
people took the slices that are wrong from 27.7 to 22.7 %, forty to 17.0 %, in seconds; all layers, trained
further with a low rate for minutes, went from 26.3 to 25.2 % with twenty.  Three things keep the rest from
falling apart: seven tenths of the weight lie on simulated slices, whose targets are what the network said of
them before (Robins (1995), *Catastrophic forgetting, rehearsal and pseudorehearsal*); weights are drawn back
to those before; and on a user's slices a class of which there is no example keeps the probability it had (Li
& Hoiem (2016), *Learning without forgetting*, eq. 2): twenty abdomens say nothing about knees.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fovnet.acts.run import Bar, Run
from fovnet.decision.answer import answer_facts
from fovnet.decision.assembly import assemble
from fovnet.decision.ensemble import Ensemble, load
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.folder import ModelFolder
from fovnet.decision.judge import Judge
from fovnet.decision.novelty import NoveltyReference
from fovnet.decision.rule import Rule
from fovnet.decision.scored_slices import ScoredSlices, decisions, shown_volumes, truth_of
from fovnet.decision.scores import with_turned_and_brightened
from fovnet.evaluate.guards import SIMULATED, training_marks
from fovnet.evaluate.reading import case_of
from fovnet.evaluate.tallies import Tally, tally
from fovnet.maths.softmax_regression import Layer, refit, scores
from fovnet.net.inference.last_layer import hidden, last_layer, with_last_layer
from fovnet.net.jobs.training_data import training_fingerprint
from fovnet.net.training.train import choose_device
from fovnet.net.training.warm_start import warm_start_ensemble
from fovnet.records import digest, read_npz, write_npz
from fovnet.volume.collection.pack import Pack, VolumeRecord

OWN = 0.3
"""Share of the weight that the users' slices have together, each volume's alike."""
RIDGE = 1e-3
"""Of the squared changes of weights, in the loss.  With forty labelled people of a site 17.0 % of the slices
are wrong then, 18.5 % with ten times as much, 16.3 % with a tenth, where more is forgotten of others (9.9
instead of 9.6 % wrong, 9.4 before)."""
MOST_KEPT = 0.1
"""Most that the classes without examples keep together on a slice: where they had more, the networks were
wrong, as the slice shows another region, and that is what is to be learned."""


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What is worked out once for all folds of a run whose slices are cut."""

    run: Run
    progress: Bar

    @cached_property
    def pack(self) -> Pack:
        """All slices."""
        return self.run.pack

    @cached_property
    def begun(self) -> tuple[Path, dict[str, Any]]:
        """The folder of the ensemble that is adapted, and its facts."""
        found = warm_start_ensemble(self.run.settings)
        assert found is not None, "refused before: `training.begin` is set"
        return found

    @cached_property
    def shows(self) -> dict[str, str]:
        """The regions that each user's volumes show, by subject."""
        found: dict[str, set[str]] = {}
        for index, record in enumerate(self.pack.records):
            if record.collection != SIMULATED and record.labelled and record.status == "ok":
                seen = np.flatnonzero(truth_of(self.pack, index).any(axis=0))
                found.setdefault(record.subject, set()).update(self.pack.classes[at] for at in seen)
        return {subject: ", ".join(sorted(regions)) for subject, regions in found.items()}

    @cached_property
    def replay(self) -> frozenset[str]:
        """The simulated people who are learned beside users."""
        return self._simulated("train")

    @cached_property
    def check(self) -> frozenset[str]:
        """The simulated people who are not learned from."""
        return self._simulated("validation", "test")

    def _simulated(self, *splits: str) -> frozenset[str]:
        records = self.pack.records
        return frozenset(
            one.subject for one in records if one.collection == SIMULATED and one.split in splits
        )

    def view(
        self,
        *,
        train: Collection[str] = (),
        validation: Collection[str] = (),
        test: Collection[str] = (),
    ) -> Pack:
        """The slices with these subjects in the splits, and all others in none."""
        split = {
            **dict.fromkeys(train, "train"),
            **dict.fromkeys(validation, "validation"),
            **dict.fromkeys(test, "test"),
        }

        def placed(record: VolumeRecord) -> VolumeRecord:
            here = (
                split.get(record.subject, "") if record.labelled and record.status == "ok" else ""
            )
            return replace(record, split=here)

        return replace(self.pack, records=tuple(map(placed, self.pack.records)))

    @cached_property
    def files(self) -> list[Path]:
        """The networks that are adapted."""
        folder, model_facts = self.begun
        return [folder / one["weights"] for one in model_facts["members"]]

    @cached_property
    def layers(self) -> list[Layer]:
        """Their last layers."""
        return [last_layer(path) for path in self.files]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(n,) the slices that can be learned from, users' and simulated."""
        return self.view(train={*self.shows, *self.replay}).rows("train")

    @cached_property
    def hidden(self) -> list[NDArray[np.float32]]:
        """(n, f) of each network: what its last layer is given for `rows`."""
        pack, device = self.pack, choose_device(self.run.settings.training.device)
        with self.progress("what the last layers are given") as advance:
            return hidden(self.files, pack.pixels, self.rows, pack.placing, device, advance)

    @cached_property
    def said(self) -> NDArray[np.float64]:
        """(p, n, k) what each network says of `rows` before."""
        given = zip(self.hidden, self.layers, strict=True)
        return np.stack(
            [softmax(scores(each.astype(float), layer), axis=1) for each, layer in given]
        )

    def fitted(self, users: Collection[str]) -> list[Layer]:
        """The networks' last layers, (k, f) and (k,) each, fitted anew on these users beside simulated
        people."""
        own, others = (
            np.searchsorted(self.rows, self.view(train=those).rows("train"))
            for those in (users, self.replay)
        )
        chosen, truth = np.concatenate([own, others]), self.pack.truth[self.rows[own]]
        labels = truth / truth.sum(axis=1, keepdims=True)
        mean = np.tensordot(
            self.begun_model.rule.member_weights(len(self.layers)), self.said[:, own], axes=1
        )
        kept = kept_targets(labels, mean, np.asarray(truth.any(axis=0)))
        weights = np.concatenate(
            [
                OWN * alike(self.pack.volume[self.rows[own]]),
                np.full(len(others), (1 - OWN) / len(others)),
            ]
        )
        return [
            refit(
                given[chosen].astype(float),
                np.concatenate([kept, said[others]]),
                weights,
                layer,
                ridge=RIDGE,
            )
            for given, said, layer in zip(self.hidden, self.said, self.layers, strict=True)
        ]

    @cached_property
    def model(self) -> Ensemble:
        """The ensemble that is adapted."""
        return load(self.begun[0], self.run.settings.training.device)

    @cached_property
    def before(self) -> ScoredSlices:
        """What its networks say of the users' slices."""
        return self.scored(self.model, self.shows, "networks as they were, your subjects")

    @cached_property
    def before_of_check(self) -> ScoredSlices:
        """The same of the simulated people who are not learned from."""
        return self.scored(self.model, self.check, "networks as they were, simulated people")

    def judge(self, rule: Rule) -> Judge:
        """What makes answers of outputs."""
        return self.begun_model.judge(rule, self.run.vocabulary)

    @cached_property
    def novelty(self) -> NoveltyReference | None:
        """The novelty reference: the same before and after, as features are taken before last layers."""
        return self.begun_model.novelty

    def scored(self, model: Ensemble, subjects: Collection[str], what: str) -> ScoredSlices:
        """What a model's networks say of the slices of these subjects, of their volumes turned over, and of
        dark slices brightened; kept in a file, so that it is computed once."""
        view = self.view(test=subjects)
        known = digest([model.identity, training_fingerprint(self.view(train=subjects))])
        path = self.run.results.folder / "answers" / f"{known[:16]}.npz"
        with suppress(OSError, ValueError):
            return ScoredSlices.read(read_npz(path))
        with self.progress(what) as advance:
            outputs = model.outputs(self.pack.pixels, advance, view.rows("test"), self.pack.placing)
        made = ScoredSlices(view.rows("test"), outputs, model.rule.weights)
        with self.progress(f"{what}: turned over, brightened") as advance:
            made = with_turned_and_brightened(model, made, view, advance)
        write_npz(path, **made.arrays())
        return made

    def blended(
        self, fitted: Sequence[Layer], share: float, folder: Path, users: Collection[str]
    ) -> Ensemble:
        """The ensemble, new in its folder, of the networks with this share of the fitted last layers, the
        rest those of before; it has no rule yet, but the members' weights in the mean."""
        model_facts, settings = self.begun[1], self.run.settings
        learned = self.view(train={*users, *self.replay}, validation=self.check)
        with TemporaryDirectory() as place:
            members = []
            for one, path, old, new in zip(
                model_facts["members"], self.files, self.layers, fitted, strict=True
            ):
                file = with_last_layer(path, Path(place) / path.name, between(old, new, share))
                members.append({**one, "weights": str(file)})
            assemble(
                folder,
                members,
                self.run.vocabulary,
                model_facts["prepare"],
                settings=settings.ensemble.model_dump(),
                seed=settings.seed,
                subjects=training_marks(learned, model_facts, settings.seed),
                precision=model_facts.get("precision", "float32"),
                origin=model_facts,
                inputs=self.pack.inputs,
            )
        rule = Rule(weights=self.begun_model.rule.weights)
        return replace(load(folder, settings.training.device, rule=rule), novelty=self.novelty)

    @cached_property
    def begun_model(self) -> ModelFolder:
        """The folder of the ensemble that is adapted."""
        return ModelFolder(self.begun[0])

    def shown(self, scored: ScoredSlices, subjects: Collection[str]) -> list[LabelledVolume]:
        """The labelled volumes of these subjects, for settling a rule."""
        return shown_volumes(self.view(test=subjects), scored, "test")

    def tallied(self, scored: ScoredSlices, judge: Judge, subjects: Collection[str]) -> list[Tally]:
        """The answers on the volumes of these subjects, counted against their labels; by volume_id."""
        view, vocabulary, found = self.view(test=subjects), self.run.vocabulary, []
        index = {record.volume_id: at for at, record in enumerate(view.records)}
        for volume in decisions(view, scored, "test", judge):
            body = answer_facts(volume.answer, volume.stack, volume.raw, vocabulary)
            if volume.raw is not None:
                case = case_of(view, index[volume.answer.volume_id], body)
                found.append(tally(case, vocabulary))
        return sorted(found, key=lambda one: one.case.volume_id)


def alike(volume: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n,) weights of slices, given the volume (n,) of each; of each volume the same in all, together one."""
    _, of, count = np.unique(volume, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (count[of] * len(count)))


def between(old: Layer, new: Layer, share: float) -> Layer:
    """The layer that has gone this share of the way from the old one to the new."""
    weight, bias = (
        before + share * (after - before) for before, after in zip(old, new, strict=True)
    )
    return weight, bias


def kept_targets(
    labels: NDArray[np.float64], before: NDArray[np.float64], shown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Targets (n, k) of a user's slices: classes not among those `shown` (k,) in any example keep their
    probability before (n, k), MOST_KEPT together at most; the label has the rest."""
    kept = np.where(shown, 0.0, before)
    total = kept.sum(axis=1, keepdims=True)
    kept *= np.minimum(1.0, MOST_KEPT / np.maximum(total, 1e-12))
    return np.asarray(kept + labels * (1.0 - kept.sum(axis=1, keepdims=True)))
