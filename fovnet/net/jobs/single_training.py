"""Training of a single configuration in this process, as in a search but without a journal: its
network and its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.jobs.training_data import LabelledSlices
from fovnet.net.jobs.workers import TrainingJob, train_proposal, use_one_thread
from fovnet.net.paths import forget_checkpoint
from fovnet.records import digest, read_json, write_json
from fovnet.search.journal import lock_journal
from fovnet.search.trial import Outcome, Proposal, Trial, trial_from_facts, trial_to_facts

if TYPE_CHECKING:
    from torch import Tensor

    from fovnet.net.training.progress import Progress

NETWORK_FILE = "network.safetensors"
RECORD_FILE = "trial.json"


@dataclass(frozen=True)
class SingleTraining:
    """A configuration, its data, and the folder for its files: network.safetensors, trial.json, and
    a checkpoint during training.

    data               all labelled slices
    data_hash          a hash of them
    job                as of a search; its rows, its folder of networks and its hash of the data are
                       replaced by this training's own
    seed               of the draw of the validation slices
    training_seed      of the weights, the order and the augmentation; with that of a search's trial,
                       the network is the same
    validation_slices  how many are scored, drawn by `seed` as in a search; None: all
    row_frequencies    (n,) with which each training row is drawn; None if uniform
    """

    configuration: Mapping[str, Any]
    data: LabelledSlices
    data_hash: str
    folder: Path
    job: TrainingJob
    seed: int
    training_seed: int
    validation_slices: int | None = None
    row_frequencies: Tensor | None = None

    @property
    def weights_path(self) -> Path:
        """The path of the weights of the best epoch."""
        return self.folder / NETWORK_FILE

    @property
    def validation_rows(self) -> NDArray[np.int64]:
        """(v,) the validation rows of the score, ascending."""
        return self._data_of_training.validation_rows

    @property
    def _data_of_training(self) -> LabelledSlices:
        return self.data.with_validation_rows(self.validation_slices, self.seed)

    @property
    def guessing_loss(self) -> float:
        """The validation loss of guessing, in nats."""
        return self._data_of_training.guessing_loss(self.row_frequencies)

    def train(self, report_epoch: Callable[[Progress, int], None] | None = None) -> Outcome:
        """The outcome of the training, written to trial.json; the recorded one if this very
        training was done before.

        After a kill it resumes after the last whole epoch.  Raises SearchError ("journal-owned")
        while another process trains there.
        """
        with lock_journal(self.folder):
            return self._train_or_read(report_epoch)

    def _train_or_read(self, report_epoch: Callable[[Progress, int], None] | None) -> Outcome:
        """The recorded outcome, or that of the training, recorded."""
        trial = self.read_record()
        if trial is not None:
            return trial.outcome
        use_one_thread()  # gives the same bits as in a search
        record_path = self.folder / RECORD_FILE
        # of another training: its network must not stand beside this one's record
        if record_path.exists():
            self.weights_path.unlink(missing_ok=True)
            record_path.unlink()
        job = replace(
            self.job,
            rows_path=self._data_of_training.write(self.folder),
            networks_folder=self.folder / "networks",
            data_hash=digest([self.data_hash, self.seed, self.validation_slices]),
        )
        proposal = Proposal(
            slot=0,
            row=0,
            configuration=self.configuration,
            seed=self.training_seed,
            seen_slots=(),
            pending_slots=(),
            predicted_seconds=0.0,
        )
        outcome = train_proposal(job, proposal, report_epoch, self.weights_path)
        write_json(
            record_path,
            {**trial_to_facts(Trial(proposal, outcome)), "decides": self._deciding_hash},
            settings=self.configuration,
            seed=self.seed,
        )
        forget_checkpoint(self.weights_path)
        return outcome

    @property
    def _deciding_hash(self) -> str:
        """A hash of everything that the outcome depends on.  Its keys are as in recorded trials,
        whatever the fields are called: "envelope" are the losses above which it is pruned, by epoch."""
        recipe = self.job.recipe
        deciding_values = {
            "head": self.job.head,
            "device": self.job.device,
            "envelope": self.job.envelope,
            "inputs": self.job.network_facts,
            "kinds": self.job.input_kinds,
            "begin": self.job.beginnings,
            "rate_factor": self.job.rate_factor,
            **vars(recipe),
            **vars(recipe.ranges),
        }
        del deciding_values["ranges"]  # its numbers stand beside it
        return digest(
            [
                self.configuration,
                {name: repr(value) for name, value in deciding_values.items()},
                self.data_hash,
                self.seed,
                self.training_seed,
                self.validation_slices,
            ]
        )

    def read_record(self) -> Trial | None:
        """The record of this very training, if it was done before without an error, and its network
        is there if it has a score; else None."""
        trial, deciding_hash = self._read_record_and_hash()
        if trial is None or deciding_hash != self._deciding_hash or trial.outcome.status == "error":
            return None
        if trial.score is not None and not self.weights_path.exists():
            return None
        return trial

    def read_replaced_configuration(self) -> Mapping[str, Any] | None:
        """The configuration of another training whose network in the folder this one's will
        replace; None if there is none."""
        trial, deciding_hash = self._read_record_and_hash()
        is_this_training = deciding_hash == self._deciding_hash
        if trial is None or is_this_training or not self.weights_path.exists():
            return None
        return trial.proposal.configuration

    def _read_record_and_hash(self) -> tuple[Trial | None, str | None]:
        """The record in the folder, and the hash of what it depends on; (None, None) if there is
        none that can be read."""
        try:
            facts = read_json(self.folder / RECORD_FILE)
            return trial_from_facts(facts), facts.get("decides")
        except (OSError, ValueError, KeyError, TypeError):
            return None, None
