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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.acts.adaptation import Adaptation, ScoredVolumes
from fovnet.acts.people import SimulatedPeople, read_people, write_people
from fovnet.acts.prepare import cut_slices, simulate_people
from fovnet.acts.run import ProgressBar, Run, silent_progress
from fovnet.acts.warm_start import warm_start_ensemble
from fovnet.config.files import parse
from fovnet.config.models import Settings
from fovnet.config.space import MEMBERS
from fovnet.decision import novelty, orientation
from fovnet.decision.fitting.blending import (
    CANDIDATE_SHARES,
    index_of_best_share,
    refit_rule,
    subject_loss,
)
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.folder import ModelFolder, save_rule, seal
from fovnet.decision.judge import Judge
from fovnet.errors import CollectionError, ConfigError, ModelError
from fovnet.evaluate.gains import (
    GAIN_COLUMNS,
    SLICES_WRONG,
    Gain,
    certain_changes_in_words,
    gain_rows,
    measure_gains,
)
from fovnet.evaluate.guards import SIMULATED_COLLECTION
from fovnet.evaluate.tallies import Tally
from fovnet.maths.softmax_regression import Layer
from fovnet.own_files import refuse_foreign
from fovnet.records import copy_file, write_json, write_tsv
from fovnet.regions import BUILT_IN, Vocabulary
from fovnet.volume.collection.folds import make_folds
from fovnet.volume.collection.preflight import is_file_missing, notes_on_missing_files
from fovnet.volume.collection.tables import read_collection
from fovnet.words import several

FEWEST_SUBJECTS = 5
"""Labelled subjects: with fewer a fold would leave out a fourth of them, and no interval can be
given."""
LARGEST_SHARE_LOST = 0.005
"""Most slices, as a share, that may be wrong beyond those before: of simulated people, in all and,
where chance does not explain it, of a region or a kind of picture; and of the users' left out, in
all."""
MOST_FOLDS = 20
"""Most folds: a subject each up to so many, as a fit takes seconds."""
FOLD_GROUPS = 5
"""Bars are chosen anew for so many groups of folds: they take half a minute each, and hardly
differ."""
PHANTOM_SETTINGS = {
    "subjects": 220,
    "volumes_per_subject": 2,
    "without": [
        "organs high and low",
        "open walls",
        "true places",
    ],
}
SPLIT_FRACTIONS = (0.27, 0.72, 0.01)
"""As in `configs/adapt.yaml`, which says why."""
GAINS_TABLE = "gains.tsv"
FACTS_FILE = "adapted.json"
USERS_IN_WORDS = "your subjects, left out in turn"
SIMULATED_IN_WORDS = "simulated people, not learned from"
CLOSE_SIDE_MM = 260.0  # sides of the square cuts below which a picture is of a part of the body


@dataclass(frozen=True)
class AdaptationOutcome:
    """What an adaptation came to.

    new_weight_share    share of the new weights; 0 where the networks before were kept
    reason_for_keeping  why those before were kept, in a sentence; empty where they were not
    subject_count       subjects of the user, learned from
    volume_count        volumes of these subjects
    user_gains          what changed on the users' volumes; where no share helped, what the least
                        would have
    simulated_gains     what changed on the simulated people's
    certainty_in_words  which of these gains and losses are certain, in a sentence
    gains_table         the path of the table of gains
    ensemble_folder     the ensemble put in its place
    learned_people      simulated people learned from beside them; `checked_people` those who were not
    notes               a sentence for each collection of which files are missing, and on people of
                        the model who could not be used
    """

    new_weight_share: float
    reason_for_keeping: str
    subject_count: int
    volume_count: int
    user_gains: Sequence[Gain]
    simulated_gains: Sequence[Gain]
    certainty_in_words: str
    gains_table: Path
    ensemble_folder: Path
    learned_people: int
    checked_people: int
    notes: Sequence[str] = ()


def adapt_ensemble(
    run: Run, *, workers: int = 1, progress: ProgressBar = silent_progress, hold: bool = True
) -> AdaptationOutcome:
    """The ensemble of a run, adapted to its collections, with `gains.tsv` and `adapted.json` beside
    it.

    hold  whether to hold the results folder meanwhile; False where a workflow holds it
    Raises ConfigError "adapt-begin", "adapt-other-regions" and "results-held", CollectionError
    "adapt-few", and as the act that prepares slices.
    """
    notes = _refuse_unfit(run)  # before the lock, which is a file
    with run.results.take_lock() if hold else nullcontext():
        people = None
        try:
            people = _people_of_model(run)
        except ModelError as fault:
            notes = [*notes, fault.sentence]
        if people is not None:
            run = _without_simulating(run)
        elif run.results.is_to_simulate(run.settings.phantom.subjects):
            simulate_people(run, workers, progress)
        cut_slices(run, workers=workers, progress=progress)
        adaptation = Adaptation(run, people, progress)
        refuse_few(len(adaptation.regions_by_user), "could be read")
        return replace(_Folds(adaptation).conclude(), notes=notes)


def _people_of_model(run: Run) -> SimulatedPeople | None:
    """The simulated people that come with the model; None if it has none, others are configured, or
    the results have people already.  Raises ModelError as `read_people`."""
    phantom = run.settings.phantom
    are_other_people_configured = phantom.model_dump() != PHANTOM_SETTINGS
    if are_other_people_configured or not run.results.is_to_simulate(phantom.subjects):
        return None
    warm_start = warm_start_ensemble(run.settings)
    assert warm_start is not None, "refused before: `training.begin` is set"
    ensemble_folder, _ = warm_start
    return read_people(ModelFolder(ensemble_folder))


def _without_simulating(run: Run) -> Run:
    """The run with nobody simulated."""
    phantom = run.settings.phantom.model_copy(update={"subjects": 0})
    return Run(run.config, run.settings.model_copy(update={"phantom": phantom}))


def write_people_of_model(
    simulated: Path,
    out: Path,
    ensemble: Path,
    *,
    megabytes: float,
    seed: int,
    workers: int = 1,
    progress: ProgressBar = silent_progress,
) -> tuple[Path, SimulatedPeople]:
    """`people.npz` in a model folder, of a collection of simulated people, and these people;
    `adapt_ensemble` then simulates nobody.

    out  a results folder of its own: its slices and inputs are used again after a kill
    Raises ModelError as `write_people`, and as the act that prepares slices.
    """
    settings = settings_of_adaptation(simulated, out, ensemble, seed)
    model_folder = ModelFolder(ensemble)
    run = Run(
        simulated,
        settings.model_copy(
            update={
                "collections": {SIMULATED_COLLECTION: str(simulated)},
                "phantom": settings.phantom.model_copy(update={"subjects": 0}),
                "regions": _name_of_vocabulary(model_folder.network_vocabulary),
            }
        ),
    )
    with run.results.take_lock():
        cut_slices(run, workers=workers, progress=progress)
        return write_people(run, model_folder, megabytes * 1e6, progress)


def settings_of_adaptation(labels: Path, out: Path, ensemble: Path, seed: int) -> Settings:
    """The settings of `configs/adapt.yaml` for these labels and networks: slices are cut as they
    were for these."""
    ensemble_facts = ModelFolder(ensemble).facts
    return parse(
        {
            "results": str(out),
            "collections": {"labels": str(labels)},
            "seed": seed,
            "phantom": PHANTOM_SETTINGS,
            "prepare": {**ensemble_facts["prepare"], "split": SPLIT_FRACTIONS},
            "training": {"begin": str(ensemble)},
            "search": {"space": MEMBERS},
            "ensemble": {"precision": ensemble_facts.get("precision", "float32")},
            "decision": {"stated_error": 0.03},
        },
        "adapt",
    )


def _name_of_vocabulary(vocabulary: Vocabulary) -> str:
    """The name that a configuration has for these classes; that of the default ones for regions of
    one's own, which no configuration was given for."""
    for name, built_in in BUILT_IN.items():
        if built_in.classes == vocabulary.classes:
            return name
    return "default"


def refuse_few(subjects: int, condition: str, sentences: Sequence[str] = ()) -> None:
    """Raise CollectionError "adapt-few" for fewer than FEWEST_SUBJECTS labelled subjects.

    condition  that these subjects meet, in words
    sentences  that may say why there are no more
    """
    if subjects >= FEWEST_SUBJECTS:
        return
    sentences_in_words = "".join(f"{sentence}. " for sentence in sentences)
    raise CollectionError(
        "adapt-few",
        f"{sentences_in_words}{several(subjects, 'labelled subject')} {condition}, at least {FEWEST_SUBJECTS} are "
        "wanted: with fewer nobody could tell whether networks trained on them got better or "
        f"worse at other people. Label volumes of {FEWEST_SUBJECTS - subjects} more; those there are can "
        "tell how right the networks are (`fovnet examine ANSWERS --truth TABLES --out "
        "examined`).",
    )


def _refuse_unfit(run: Run) -> list[str]:
    """A sentence for each collection of which files are missing.  Raises as `adapt_ensemble`,
    before anything is simulated, which takes minutes, or written."""
    refuse_foreign(
        run.results.ensemble, lambda ensemble_folder: (ensemble_folder / "ensemble.json").exists()
    )
    warm_start = warm_start_ensemble(run.settings)
    if warm_start is None:
        raise ConfigError(
            "adapt-begin",
            f"{run.config}: training.begin is not set; name the networks to be adapted, such as "
            "shipped, and set search.space: members (configs/adapt.yaml has both)",
        )
    ensemble_folder, _ = warm_start
    ensemble_classes = ModelFolder(ensemble_folder).vocabulary.classes
    if ensemble_classes != run.vocabulary.classes:
        raise ConfigError(
            "adapt-other-regions",
            f"{ensemble_folder}: its networks name {', '.join(ensemble_classes)}, and `regions` "
            f"{', '.join(run.vocabulary.classes)}, where the same are wanted; the workflow learns "
            "new ones (configs/README.md)",
        )
    tables_by_collection = {
        collection_name: read_collection(Path(tables_folder), run.network_vocabulary)
        for collection_name, tables_folder in run.settings.collections.items()
    }
    table_paths = ", ".join(str(table.table_path) for table in tables_by_collection.values())
    labelled_rows = [
        (collection_name, row)
        for collection_name, table in tables_by_collection.items()
        for row in table.volume_rows
        if table.region_rows_by_volume.get(row.volume_id)
    ]
    refuse_few(
        len({(collection_name, row.subject_id) for collection_name, row in labelled_rows}),
        f"in {table_paths or 'the tables'}",
    )
    missing_file_notes = notes_on_missing_files(tables_by_collection)
    readable_subjects = {
        (collection_name, row.subject_id)
        for collection_name, row in labelled_rows
        if not is_file_missing(row)
    }
    refuse_few(len(readable_subjects), "with a file", missing_file_notes)
    return missing_file_notes


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Networks with a share of what was learned of all users.

    folder            of the ensemble
    simulated_scores  what they say of the simulated people
    judge             with the rule settled for them
    settling_facts    how the bars of this rule were chosen
    """

    folder: Path
    simulated_scores: ScoredVolumes
    judge: Judge
    settling_facts: Mapping[str, Any]


class _Folds:
    """The folds of an adaptation, fitted and scored."""

    def __init__(self, adaptation: Adaptation) -> None:
        self.adaptation = adaptation
        self.seed = adaptation.run.settings.seed
        self.folds = make_folds(adaptation.regions_by_user, self.seed, MOST_FOLDS)
        self.subjects = sorted(adaptation.regions_by_user)
        self.scores_by_fold_and_share = self._score_folds()
        self.loss_by_share_and_subject = self._measure_left_out_losses()

    def _score_folds(self) -> list[list[ScoredVolumes]]:
        """What `_score_fold` gives for every fold."""
        _ = self.adaptation.inputs_by_index  # whose progress has a line of its own
        scores = []
        with self.adaptation.progress("your subjects, left out in turn") as advance:
            for fold_index in range(len(self.folds)):
                scores.append(self._score_fold(fold_index))
                advance(fold_index + 1, len(self.folds))
        return scores

    def _score_fold(self, fold_index: int) -> list[ScoredVolumes]:
        """What the networks fitted without a fold say of its subjects, by share; the first are
        those before."""
        adaptation = self.adaptation
        left_out_subjects = self.folds[fold_index]
        learned_subjects = adaptation.regions_by_user.keys() - left_out_subjects
        layers = adaptation.fit_last_layers(learned_subjects)
        return [
            adaptation.user_scores_before,
            *(
                adaptation.score_subjects(adaptation.blend_layers(layers, share), left_out_subjects)
                for share in CANDIDATE_SHARES[1:]
            ),
        ]

    def _measure_left_out_losses(self) -> NDArray[np.float64]:
        """(m, j) the loss of every share on every subject, each left out of the fit."""
        judge = self.adaptation.judge_before
        loss_by_share_and_subject = np.zeros((len(CANDIDATE_SHARES), len(self.subjects)))
        for fold, scored_by_share in zip(self.folds, self.scores_by_fold_and_share, strict=True):
            for share_index, scored in enumerate(scored_by_share):
                for subject in fold:
                    subject_volumes = self.adaptation.labelled_volumes(scored, {subject})
                    loss_by_share_and_subject[share_index, self.subjects.index(subject)] = (
                        subject_loss(
                            [
                                judge.mean_probabilities(volume.outputs)
                                for volume in subject_volumes
                            ],
                            [volume.truth for volume in subject_volumes],
                        )
                    )
        return loss_by_share_and_subject

    def _scores_of_fold(self, fold_index: int, largest_share_index: int) -> ScoredVolumes:
        """What networks say of a fold that did not see it; their share, at most the one of this
        index, is chosen on the subjects of the other folds."""
        is_in_fold = np.array([subject in self.folds[fold_index] for subject in self.subjects])
        share_index = min(
            index_of_best_share(self.loss_by_share_and_subject, is_in_fold), largest_share_index
        )
        return self.scores_by_fold_and_share[fold_index][share_index]

    def user_volumes(
        self, largest_share_index: int, folds_left_out: Sequence[int] = ()
    ) -> list[LabelledVolume]:
        """The users' volumes with the outputs of the networks that did not see them, those of some
        folds left out; their share is at most the one of this index."""
        volumes: list[LabelledVolume] = []
        for fold_index, fold in enumerate(self.folds):
            if fold_index not in folds_left_out:
                scored = self._scores_of_fold(fold_index, largest_share_index)
                volumes += self.adaptation.labelled_volumes(scored, fold)
        return volumes

    def conclude(self) -> AdaptationOutcome:
        """The outcome, the ensemble in its place: the networks before where the new ones are
        worse."""
        best_index = index_of_best_share(self.loss_by_share_and_subject)
        reasons = []
        gains_by_people: dict[str, Sequence[Gain]] = {USERS_IN_WORDS: (), SIMULATED_IN_WORDS: ()}
        for share_index in range(best_index, 0, -1):
            candidate = self._make_candidate(share_index)
            gains_by_people = self._gains_of_candidate(candidate, share_index)
            losses_in_words = [
                *_losses_in_words(gains_by_people[SIMULATED_IN_WORDS], SIMULATED_IN_WORDS),
                *_losses_in_words(gains_by_people[USERS_IN_WORDS][:1], USERS_IN_WORDS),
            ]
            if not losses_in_words:
                return self._install(candidate, CANDIDATE_SHARES[share_index], "", gains_by_people)
            reasons.append(
                f"with {CANDIDATE_SHARES[share_index]:.0%} of the new weights {'; '.join(losses_in_words)}"
            )
        if not best_index:
            gains_by_people[USERS_IN_WORDS] = self._gains_of_least_share()
            loss_before, least_loss = self.loss_by_share_and_subject.mean(axis=1)[:2]
            reasons.append(
                f"{USERS_IN_WORDS}, were answered no better with any share of the new weights (log loss "
                f"{loss_before:.3f} before, {least_loss:.3f} with {CANDIDATE_SHARES[1]:.0%})"
            )
        return self._install(None, 0.0, ". ".join(reasons), gains_by_people)

    def _gains_of_least_share(self) -> list[Gain]:
        """What the least share would change on the users' volumes, by the rule as it was."""
        adaptation = self.adaptation
        judge = adaptation.judge_before
        tallies_after: list[Tally] = []
        for fold, scored_by_share in zip(self.folds, self.scores_by_fold_and_share, strict=True):
            tallies_after += adaptation.tally_answers(scored_by_share[1], judge, fold)
        tallies_before = adaptation.tally_answers(
            adaptation.user_scores_before, judge, adaptation.regions_by_user
        )
        return self._measure_gains(tallies_before, sorted(tallies_after, key=_volume_id))

    def _gains_of_candidate(
        self, candidate: _Candidate, share_index: int
    ) -> dict[str, Sequence[Gain]]:
        """What a candidate changes, on the users' volumes and on the simulated people's."""
        adaptation = self.adaptation
        judge_before = adaptation.judge_before
        user_subjects = adaptation.regions_by_user
        check_subjects = adaptation.check_people
        tallies_before = adaptation.tally_answers(
            adaptation.user_scores_before, judge_before, user_subjects
        )
        check_tallies_before = adaptation.tally_answers(
            adaptation.check_scores_before, judge_before, check_subjects
        )
        check_tallies_after = adaptation.tally_answers(
            candidate.simulated_scores, candidate.judge, check_subjects
        )
        return {
            USERS_IN_WORDS: self._measure_gains(
                tallies_before, self._tally_users(candidate, share_index)
            ),
            SIMULATED_IN_WORDS: self._measure_gains(check_tallies_before, check_tallies_after),
        }

    @cached_property
    def _layers_of_all(self) -> list[Layer]:
        """The last layers fitted on all users."""
        return self.adaptation.fit_last_layers(self.adaptation.regions_by_user.keys())

    def _make_candidate(self, share_index: int) -> _Candidate:
        """The ensemble of all users with the share of this index."""
        adaptation = self.adaptation
        share = CANDIDATE_SHARES[share_index]
        candidate_folder = adaptation.run.results.folder / "candidate"
        layers = adaptation.write_networks(
            adaptation.blend_layers(self._layers_of_all, share),
            candidate_folder,
            adaptation.regions_by_user.keys(),
        )
        check_subjects = adaptation.check_people
        scored = adaptation.score_subjects(layers, check_subjects)
        # neither depends on last layers
        for file_name in (novelty.NOVELTY_FILE_NAME, orientation.ORIENTATION_FILE_NAME):
            path = adaptation.model_folder.path / file_name
            if path.exists():
                copy_file(path, candidate_folder / file_name)
        settling_volumes = [
            *adaptation.labelled_volumes(scored, check_subjects),
            *self.user_volumes(share_index),
        ]
        judge_before = adaptation.judge_before
        judge, abstention, statements = refit_rule(
            judge_before, settling_volumes, **self._settling_options
        )
        settling_facts = {"abstention": abstention, "statements": statements}
        return _Candidate(candidate_folder, scored, judge, settling_facts)

    @property
    def _settling_options(self) -> dict[str, Any]:
        """What `refit_rule` is told: the errors that may be stated, the risk of their promise, and
        the seed."""
        decision = self.adaptation.run.settings.decision
        return {
            "stated_error": decision.stated_error,
            "statement_error": decision.statement_error,
            "at_risk": decision.at_risk,
            "seed": self.seed,
        }

    def _tally_users(self, candidate: _Candidate, largest_share_index: int) -> list[Tally]:
        """The users' volumes, each answered by networks and a rule that did not see its fold."""
        adaptation = self.adaptation
        tallies: list[Tally] = []
        simulated_volumes = adaptation.labelled_volumes(
            candidate.simulated_scores, adaptation.check_people
        )
        for fold_group in np.array_split(np.arange(len(self.folds)), FOLD_GROUPS):
            fold_indices = fold_group.tolist()
            judge, *_ = refit_rule(
                adaptation.judge_before,
                [*simulated_volumes, *self.user_volumes(largest_share_index, fold_indices)],
                **self._settling_options,
            )
            for fold_index in fold_indices:
                scored = self._scores_of_fold(fold_index, largest_share_index)
                tallies += adaptation.tally_answers(scored, judge, self.folds[fold_index])
        return sorted(tallies, key=_volume_id)

    def _measure_gains(
        self, tallies_before: Sequence[Tally], tallies_after: Sequence[Tally]
    ) -> list[Gain]:
        """What changed from one answer of these volumes to the other, also by kind of picture."""
        run = self.adaptation.run
        return measure_gains(
            tallies_before,
            tallies_after,
            run.vocabulary,
            seed=self.seed,
            kinds=[_kind_of_picture(tally) for tally in tallies_before],
            repeats=run.settings.evaluate.bootstrap,
        )

    def _install(
        self,
        candidate: _Candidate | None,
        share: float,
        reason: str,
        gains_by_people: Mapping[str, Sequence[Gain]],
    ) -> AdaptationOutcome:
        """The ensemble put in its place, the tables, and the outcome."""
        adaptation = self.adaptation
        results = adaptation.run.results
        settings = adaptation.run.settings
        if candidate is None:
            _copy_ensemble(adaptation.model_folder.path, results.folder / "candidate")
        else:
            save_rule(
                candidate.folder,
                candidate.judge.rule,
                {**candidate.settling_facts, **_facts_of_parts(adaptation.model_folder)},
                settings=settings.decision.model_dump(),
                seed=self.seed,
            )
            seal(candidate.folder)
        _move_ensemble(results.folder / "candidate", results.ensemble)
        gains_table = self._write_gains(share, reason, gains_by_people)
        user_pack = adaptation.pack_with_splits(test=adaptation.regions_by_user)
        user_slices = user_pack.rows_in_split("test")
        return AdaptationOutcome(
            new_weight_share=share,
            reason_for_keeping=reason,
            subject_count=len(self.subjects),
            volume_count=int(np.unique(adaptation.pack.volume_of_slice[user_slices]).size),
            user_gains=gains_by_people[USERS_IN_WORDS],
            simulated_gains=gains_by_people[SIMULATED_IN_WORDS],
            certainty_in_words=certain_changes_in_words(gains_by_people),
            gains_table=gains_table,
            ensemble_folder=results.ensemble,
            learned_people=len(adaptation.replayed_people),
            checked_people=len(adaptation.check_people),
        )

    def _write_gains(
        self, share: float, reason: str, gains_by_people: Mapping[str, Sequence[Gain]]
    ) -> Path:
        """Writes gains.tsv and adapted.json: what changed, with which share of the new weights, or
        for what reason the networks before were kept.  Returns the path of the table."""
        results = self.adaptation.run.results
        settings = self.adaptation.run.settings
        rows_of_table = [
            gain_row
            for people, people_gains in gains_by_people.items()
            for gain_row in gain_rows(people, people_gains)
        ]
        gains_table = write_tsv(results.folder / GAINS_TABLE, GAIN_COLUMNS, rows_of_table)
        mean_losses = self.loss_by_share_and_subject.mean(axis=1)
        adaptation_facts = {
            "share": share,
            "kept_because": reason,
            "subjects": len(self.subjects),
            "simulated": {
                "learned_from": len(self.adaptation.replayed_people),
                "answered": len(self.adaptation.check_people),
                "came_with_model": self.adaptation.people is not None,
            },
            "certainty": certain_changes_in_words(gains_by_people),
            "losses": dict(zip(map(str, CANDIDATE_SHARES), mean_losses, strict=True)),
            "folds": [len(fold) for fold in self.folds],
            "margin": LARGEST_SHARE_LOST,
            "gains": rows_of_table,
        }
        write_json(
            results.folder / FACTS_FILE,
            adaptation_facts,
            settings=settings.model_dump(mode="json"),
            seed=self.seed,
        )
        return gains_table


def _facts_of_parts(model_folder: ModelFolder) -> dict[str, Any]:
    """The rules for the parts of regions of the ensemble that is adapted, and how they were fitted, as
    they are; empty where regions have none.

    They stay, as do the shares of a region by which its parts are decided; the bars were fitted on many
    more people than there are here.
    """
    return {
        key: model_folder.tuning[key]
        for key in ("parts", "part_rules")
        if key in model_folder.tuning
    }


def _volume_id(tally: Tally) -> str:
    return tally.case.volume_id


def _kind_of_picture(tally: Tally) -> str:
    """The kind of picture a volume is: its plane, and whether it shows a part of the body
    closely."""
    plane = tally.case.attributes.get("plane") or "isotropic"
    return f"{plane}, close" if tally.case.side_mm < CLOSE_SIDE_MM else plane


def _losses_in_words(people_gains: Sequence[Gain], people_in_words: str) -> list[str]:
    """A sentence on all that is lost: more than LARGEST_SHARE_LOST of the slices are wrong that
    were right before, of all or, beyond chance, of a region or of a kind of picture.

    Of 15 regions and kinds one or two always look worse: one volume of one person in 158, answered
    otherwise, was 1.7 points of the heads.  Fewer statements decided are no such loss, however
    certain: of 158 people a point or two is, while of five or six users hardly any gain can be.
    `certainty` tells it, and whoever asked decides.
    """
    sentences = []
    for gain in people_gains:
        difference = gain.difference
        region_or_kind = gain.region or gain.kind
        is_certain = difference.low is not None and difference.low > 0
        if (
            gain.measure == SLICES_WRONG
            and difference.difference > LARGEST_SHARE_LOST
            and (is_certain or not region_or_kind)
        ):
            slices_in_words = f"{gain.of_after:,} slices ({region_or_kind or 'all'})"
            sentences.append(
                f"{100 * difference.second:.1f} % of {slices_in_words} of {people_in_words} are wrong, "
                f"{100 * difference.first:.1f} % before"
            )
    return sentences


def _copy_ensemble(source: Path, folder: Path) -> None:
    """An ensemble's files as they are."""
    rmtree(folder, ignore_errors=True)
    for path in sorted(source.iterdir()):
        if path.is_file():
            copy_file(path, folder / path.name)


def _move_ensemble(source: Path, target: Path) -> None:
    """Move a finished ensemble to its place; an earlier one gives way."""
    earlier_ensemble = target.with_name(f"{target.name}.before")
    rmtree(earlier_ensemble, ignore_errors=True)
    if target.exists():
        target.rename(earlier_ensemble)
    source.rename(target)
    rmtree(earlier_ensemble, ignore_errors=True)
