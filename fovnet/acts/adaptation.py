"""The parts of an adaptation: who is learned from, the networks' last layers fitted anew, and what
networks with them answer.

    before  of the ensemble that is adapted
    users   subjects whose volumes were labelled
    replay  simulated people who are learned beside them
    check   simulated people who are not
    n       slices
    f       features that a last layer is given
    k       regions that are answered, and none
    p       networks

Only last layers change: on a simulated site (a scanner with contrasts and coils of its own) five
labelled people took the slices that are wrong from 27.7 to 22.7 %, forty to 17.0 %, in seconds; all
layers, trained further with a low rate for minutes, went from 26.3 to 25.2 % with twenty.  Three
things keep the rest from falling apart: seven tenths of the weight lie on simulated slices, whose
targets are what the network said of them before (Robins (1995), *Catastrophic forgetting, rehearsal
and pseudorehearsal*); weights are drawn back to those before; and on a user's slices a class of
which there is no example keeps the probability it had (Li & Hoiem (2016), *Learning without
forgetting*, eq. 2): twenty abdomens say nothing about knees.

Of the parts of regions nothing is learned, also where labels name them: a part keeps its share of
its region on every slice, and the sum learns.  Sixteen labelled people of a site have few knees: of
the slices of their legs and heads that were left out 22.8 % were called another part before; with all of
the new weights 38.4 % if parts are learned, 23.8 % if not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fovnet.acts.people import MeasuredInputs, SimulatedPeople
from fovnet.acts.run import ProgressBar, Run
from fovnet.acts.warm_start import warm_start_ensemble
from fovnet.decision.answer import answer_facts
from fovnet.decision.assembly import write_ensemble
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.folder import ModelFolder
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.layer_inputs import LayerInputs
from fovnet.decision.scored_slices import (
    answer_split,
    labelled_volumes,
    readable_volumes,
    true_labels_of_volume,
)
from fovnet.evaluate.guards import SIMULATED_COLLECTION, training_marks
from fovnet.evaluate.reading import case_of_record
from fovnet.evaluate.tallies import Tally, count_case
from fovnet.maths.softmax_regression import Layer, refit, scores
from fovnet.net.inference.last_layer import read_last_layer, write_with_last_layer
from fovnet.regions import Vocabulary
from fovnet.volume.collection.pack import Pack, VolumeRecord

USER_SHARE_OF_WEIGHT = 0.3
"""Share of the weight that the users' slices have together, each volume's alike."""
RIDGE = 1e-3
"""Of the squared changes of weights, in the loss.  With forty labelled people of a site 17.0 % of
the slices are wrong then, 18.5 % with ten times as much, 16.3 % with a tenth, where more is
forgotten of others (9.9 instead of 9.6 % wrong, 9.4 before)."""
MOST_PROBABILITY_KEPT = 0.1
"""Most that the classes without examples keep together on a slice: where they had more, the
networks were wrong, as the slice shows another region, and that is what is to be learned."""


@dataclass(frozen=True)
class ScoredVolumes:
    """What networks say of volumes, by their index in a pack."""

    outputs_by_index: Mapping[int, MemberOutputs]

    def outputs_of_volume(self, pack: Pack, index: int) -> MemberOutputs:
        """As of `ScoredSlices`."""
        return self.outputs_by_index[index]


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What is worked out once for all folds of a run whose slices are cut.

    people  simulated people that came with the model; None: those of the run
    """

    run: Run
    people: SimulatedPeople | None
    progress: ProgressBar

    @property
    def network_vocabulary(self) -> Vocabulary:
        """The classes of the networks."""
        return self.model_folder.network_vocabulary

    @cached_property
    def training_pack(self) -> Pack:
        """All slices, labelled with the classes of the networks; those of people that came with the
        model have no pixels."""
        pack = self.run.training_pack.in_classes_of(
            self.network_vocabulary, self.run.network_vocabulary
        )
        return pack if self.people is None else self.people.append_to(pack)

    @cached_property
    def pack(self) -> Pack:
        """The same, labelled with the regions that are answered."""
        return self.training_pack.in_wholes(self.network_vocabulary)

    @cached_property
    def _warm_start(self) -> tuple[Path, dict[str, Any]]:
        warm_start = warm_start_ensemble(self.run.settings)
        assert warm_start is not None, "refused before: `training.begin` is set"
        return warm_start

    @cached_property
    def model_folder(self) -> ModelFolder:
        """The folder of the ensemble that is adapted."""
        ensemble_folder, _ = self._warm_start
        return ModelFolder(ensemble_folder)

    @property
    def facts_before(self) -> dict[str, Any]:
        """The facts of that ensemble."""
        _, ensemble_facts = self._warm_start
        return ensemble_facts

    @cached_property
    def regions_by_user(self) -> dict[str, str]:
        """The regions that each user's volumes show, by subject."""
        regions_by_subject: dict[str, set[str]] = {}
        for record_index, record in enumerate(self.pack.records):
            if record.collection != SIMULATED_COLLECTION and _is_labelled_and_read(record):
                shown_classes = np.flatnonzero(
                    true_labels_of_volume(self.pack, record_index).any(axis=0)
                )
                region_names = (self.pack.classes[class_index] for class_index in shown_classes)
                regions_by_subject.setdefault(record.subject, set()).update(region_names)
        return {
            subject: ", ".join(sorted(region_names))
            for subject, region_names in regions_by_subject.items()
        }

    @cached_property
    def replayed_people(self) -> frozenset[str]:
        """The simulated people who are learned beside users."""
        return self._people_in_splits("train")

    @cached_property
    def check_people(self) -> frozenset[str]:
        """The simulated people who are not learned from."""
        return self._people_in_splits("validation", "test")

    def _people_in_splits(self, *splits: str) -> frozenset[str]:
        return frozenset(
            record.subject
            for record in self.pack.records
            if record.collection == SIMULATED_COLLECTION and record.split in splits
        )

    def pack_with_splits(
        self,
        *,
        train: Collection[str] = (),
        validation: Collection[str] = (),
        test: Collection[str] = (),
    ) -> Pack:
        """The slices with these subjects in the splits, and all others in none."""
        split_by_subject = {
            **dict.fromkeys(train, "train"),
            **dict.fromkeys(validation, "validation"),
            **dict.fromkeys(test, "test"),
        }

        def with_split(record: VolumeRecord) -> VolumeRecord:
            if not _is_labelled_and_read(record):
                return replace(record, split="")
            return replace(record, split=split_by_subject.get(record.subject, ""))

        return replace(self.pack, records=tuple(map(with_split, self.pack.records)))

    @cached_property
    def weight_files(self) -> list[Path]:
        """The networks that are adapted."""
        return [
            self.model_folder.path / member["weights"] for member in self.facts_before["members"]
        ]

    @cached_property
    def last_layers(self) -> list[Layer]:
        """Their last layers."""
        return [read_last_layer(path) for path in self.weight_files]

    @cached_property
    def inputs_by_index(self) -> dict[int, LayerInputs]:
        """What the last layers are given for every labelled volume, by its index in `pack`."""
        run_pack = self.run.pack
        measured = MeasuredInputs(
            self.run.results.folder / "answers",
            self.model_folder,
            self.run.settings.training.device,
        )
        inputs_by_index: dict[int, LayerInputs] = {}
        with self.progress("what the last layers are given") as advance:
            for index, record in enumerate(run_pack.records):
                if _is_labelled_and_read(record):
                    is_answered = record.subject not in self.replayed_people
                    inputs_by_index[index] = measured.of_volume(
                        run_pack, index, is_answered=is_answered
                    )
                advance(index + 1, len(run_pack.records))
        if self.people is not None:
            inputs_by_index |= dict(enumerate(self.people.inputs, start=len(run_pack.records)))
        return inputs_by_index

    @cached_property
    def learnable_rows(self) -> NDArray[np.int64]:
        """(n,) the slices that can be learned from, users' and simulated."""
        return self.pack_with_splits(
            train={*self.regions_by_user, *self.replayed_people}
        ).rows_in_split("train")

    @cached_property
    def hidden_features(self) -> list[NDArray[np.float64]]:
        """(n, f) of each network: what its last layer is given for `learnable_rows`."""
        learnable_volumes = np.unique(self.pack.volume_of_slice[self.learnable_rows]).tolist()
        features = np.concatenate(
            [self.inputs_by_index[index].upright for index in learnable_volumes]
        )
        widths = [weight.shape[1] for weight, _ in self.last_layers]
        return np.split(features.astype(np.float64), np.cumsum(widths)[:-1], axis=1)

    @cached_property
    def probabilities_before(self) -> NDArray[np.float64]:
        """(p, n, k) what each network says of `learnable_rows` before."""
        features_and_layers = zip(self.hidden_features, self.last_layers, strict=True)
        class_probabilities = np.stack(
            [softmax(scores(features, layer), axis=1) for features, layer in features_and_layers]
        )
        return np.add.reduceat(class_probabilities, self.network_vocabulary.whole_starts, axis=2)

    def fit_last_layers(self, users: Collection[str]) -> list[Layer]:
        """The networks' last layers, fitted anew on these users beside simulated people."""
        user_rows = np.searchsorted(
            self.learnable_rows, self.pack_with_splits(train=users).rows_in_split("train")
        )
        replay_rows = np.searchsorted(
            self.learnable_rows,
            self.pack_with_splits(train=self.replayed_people).rows_in_split("train"),
        )
        learned_rows = np.concatenate([user_rows, replay_rows])
        truth = self.pack.truth[self.learnable_rows[user_rows]]
        label_shares = truth / truth.sum(axis=1, keepdims=True)
        member_weights = self.model_folder.rule.member_weights(len(self.last_layers))
        mean_probabilities = np.tensordot(
            member_weights, self.probabilities_before[:, user_rows], axes=1
        )
        user_targets = soft_targets(label_shares, mean_probabilities, np.asarray(truth.any(axis=0)))
        row_weights = np.concatenate(
            [
                USER_SHARE_OF_WEIGHT
                * weigh_slices(self.pack.volume_of_slice[self.learnable_rows[user_rows]]),
                np.full(len(replay_rows), (1 - USER_SHARE_OF_WEIGHT) / len(replay_rows)),
            ]
        )
        return [
            refit(
                features[learned_rows],
                np.concatenate([user_targets, probabilities[replay_rows]]),
                row_weights,
                layer,
                ridge=RIDGE,
                group_starts=self.network_vocabulary.whole_starts,
            )
            for features, probabilities, layer in zip(
                self.hidden_features, self.probabilities_before, self.last_layers, strict=True
            )
        ]

    @cached_property
    def user_scores_before(self) -> ScoredVolumes:
        """What the networks that are adapted say of the users' volumes."""
        return self.score_subjects(self.last_layers, self.regions_by_user)

    @cached_property
    def check_scores_before(self) -> ScoredVolumes:
        """The same of the simulated people who are not learned from."""
        return self.score_subjects(self.last_layers, self.check_people)

    @cached_property
    def judge_before(self) -> Judge:
        """What makes answers of outputs, by the rule of the ensemble that is adapted; its novelty
        reference is that of the new one too, as features are taken before last layers.  It says
        nothing of parts: gains and losses are those of regions."""
        return replace(self.model_folder.judge(vocabulary=self.run.vocabulary), part_rules={})

    def score_subjects(self, layers: Sequence[Layer], subjects: Collection[str]) -> ScoredVolumes:
        """What the networks with these last layers say of the volumes of these subjects, of their
        volumes turned over, and of dark slices brightened."""
        pack = self.pack_with_splits(test=subjects)
        return ScoredVolumes(
            {
                index: self.inputs_by_index[index].compute_outputs(
                    layers, self.judge_before, pack.stack_of_volume(index).edges_mm
                )
                for index in readable_volumes(pack, "test")
            }
        )

    def blend_layers(self, layers: Sequence[Layer], share: float) -> list[Layer]:
        """The layers that have gone this share of the way from those before to these."""
        return [
            interpolate_layers(layer_before, layer, share)
            for layer_before, layer in zip(self.last_layers, layers, strict=True)
        ]

    def write_networks(
        self, layers: Sequence[Layer], folder: Path, users: Collection[str]
    ) -> list[Layer]:
        """The ensemble, new in its folder, of the networks with these last layers, fitted on these
        users; it has no rule yet.  Returns the layers, rounded as the ensemble's precision has
        them."""
        ensemble_facts = self.facts_before
        settings = self.run.settings
        vocabulary = self.run.network_vocabulary
        if vocabulary.classes != self.network_vocabulary.classes:
            vocabulary = self.network_vocabulary
        learned_pack = self.pack_with_splits(
            train={*users, *self.replayed_people}, validation=self.check_people
        )
        with TemporaryDirectory() as temporary_folder:
            new_members = []
            for member, weight_file, layer in zip(
                ensemble_facts["members"], self.weight_files, layers, strict=True
            ):
                new_file = write_with_last_layer(
                    weight_file, Path(temporary_folder) / weight_file.name, layer
                )
                new_members.append({**member, "weights": str(new_file)})
            write_ensemble(
                folder,
                new_members,
                vocabulary,
                ensemble_facts["prepare"],
                settings=settings.ensemble.model_dump(),
                seed=settings.seed,
                subjects=training_marks(learned_pack, ensemble_facts, settings.seed),
                precision=ensemble_facts.get("precision", "float32"),
                origin=ensemble_facts,
                inputs=self.training_pack.network_inputs,
            )
        return [read_last_layer(path) for path in ModelFolder(folder).weight_files]

    def labelled_volumes(
        self, scored: ScoredVolumes, subjects: Collection[str]
    ) -> list[LabelledVolume]:
        """The labelled volumes of these subjects, for settling a rule."""
        return labelled_volumes(self.pack_with_splits(test=subjects), scored, "test")

    def tally_answers(
        self, scored: ScoredVolumes, judge: Judge, subjects: Collection[str]
    ) -> list[Tally]:
        """The answers on the volumes of these subjects, counted against their labels; by
        volume_id."""
        subject_pack = self.pack_with_splits(test=subjects)
        vocabulary = self.run.vocabulary
        index_by_id = {
            record.volume_id: record_index
            for record_index, record in enumerate(subject_pack.records)
        }
        tallies = []
        for volume in answer_split(subject_pack, scored, "test", judge):
            answer = answer_facts(volume.answer, volume.stack, volume.raw_probabilities, vocabulary)
            index = index_by_id[volume.answer.volume_id]
            picture = scored.outputs_of_volume(subject_pack, index).picture
            if volume.raw_probabilities is not None and picture is not None:
                answer["empty"] = np.flatnonzero(picture.is_air)  # there may be no pixels
                case = case_of_record(subject_pack, index, answer)
                tallies.append(count_case(case, vocabulary))
        return sorted(tallies, key=lambda volume_tally: volume_tally.case.volume_id)


def _is_labelled_and_read(record: VolumeRecord) -> bool:
    return record.is_labelled and record.status == "ok"


def weigh_slices(volume_of_slice: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n,) weights of slices, given the volume (n,) of each; of each volume the same in all,
    together one."""
    _, volume_index, slice_counts = np.unique(
        volume_of_slice, return_inverse=True, return_counts=True
    )
    return np.asarray(1.0 / (slice_counts[volume_index] * len(slice_counts)))


def interpolate_layers(layer_before: Layer, layer_after: Layer, share: float) -> Layer:
    """The layer that has gone this share of the way from the old one to the new."""
    weight, bias = (
        before + share * (after - before)
        for before, after in zip(layer_before, layer_after, strict=True)
    )
    return weight, bias


def soft_targets(
    labels: NDArray[np.float64],
    probabilities_before: NDArray[np.float64],
    has_example: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Targets (n, k) of a user's slices: classes without any example keep their probability before,
    MOST_PROBABILITY_KEPT together at most; the label has the rest.

    labels                (n, k) rows of sum one
    probabilities_before  (n, k)
    has_example           (k,) whether a class is shown in any example
    """
    targets = np.where(has_example, 0.0, probabilities_before)
    kept_probability = targets.sum(axis=1, keepdims=True)
    targets *= np.minimum(1.0, MOST_PROBABILITY_KEPT / np.maximum(kept_probability, 1e-12))
    return np.asarray(targets + labels * (1.0 - targets.sum(axis=1, keepdims=True)))
