"""Simulated people that come with a model, so that nobody is simulated to adapt its networks: what
their last layers are given for these people's volumes, with labels and places, without pixels.

`people.npz` in the model folder has the arrays of `LayerInputs` of every volume, and those of a pack.
It belongs to the networks, the novelty reference and the network for the body's orientation whose
SHA-256 it has; it is no part that prediction reads, and SHA256SUMS does not list it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.acts.run import ProgressBar, Run
from fovnet.decision import novelty, orientation
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import PEOPLE_FILE_NAME, ModelFolder
from fovnet.decision.layer_inputs import LayerInputs, measure_layer_inputs
from fovnet.decision.parts import checked_part_path
from fovnet.errors import ModelError
from fovnet.evaluate.guards import SIMULATED_COLLECTION
from fovnet.late import import_late
from fovnet.net.device import choose_device
from fovnet.records import checksum, digest, facts_of_record, read_npz, write_npz
from fovnet.volume.collection.pack import Pack, VolumeRecord, record_from_json

if TYPE_CHECKING:
    from fovnet.net.inference import last_layer
else:  # torch
    last_layer = import_late("fovnet.net.inference.last_layer")

PEOPLE_FORMAT = 1
"""Of the file; another one is refused."""
GREATEST_INFLATED_BYTES = 2**31
"""Of all its arrays: 12 MB inflate to about 80."""
INSTEAD = "people are simulated instead"


@dataclass(frozen=True)
class SimulatedPeople:
    """Simulated volumes without pixels; n slices in all.

    pack_arrays  volume_of_slice, z_mm, slice_ranges and truth of `Pack`, counted from these volumes;
                 the truth of the classes of the networks
    inputs       of each volume
    """

    records: tuple[VolumeRecord, ...]
    pack_arrays: Mapping[str, NDArray[Any]]
    inputs: tuple[LayerInputs, ...]

    def append_to(self, pack: Pack) -> Pack:
        """The pack, labelled with the classes of the networks, with these volumes after its own; its
        pixels are those of its own volumes."""
        slice_count = len(pack.volume_of_slice)
        records = tuple(
            replace(record, first_row=record.first_row + slice_count) for record in self.records
        )
        arrays = self.pack_arrays
        volume_of_slice = arrays["volume_of_slice"] + len(pack.records)
        return replace(
            pack,
            records=(*pack.records, *records),
            volume_of_slice=np.concatenate([pack.volume_of_slice, volume_of_slice]),
            z_mm=np.concatenate([pack.z_mm, arrays["z_mm"]]),
            slice_ranges=np.concatenate([pack.slice_ranges, arrays["slice_ranges"]]),
            truth=np.concatenate([pack.truth, arrays["truth"]]),
        )


@dataclass(frozen=True, eq=False)
class MeasuredInputs:
    """The inputs of an ensemble's last layers, measured once for each volume and kept in files of a
    folder, so that the same command goes on after a kill."""

    folder: Path
    model_folder: ModelFolder
    device_name: str

    @cached_property
    def _networks(self) -> last_layer.HeadlessNetworks:
        device = choose_device(self.device_name)
        return last_layer.HeadlessNetworks.load(self.model_folder.weight_files, device)

    @cached_property
    def _ensemble(self) -> Any:
        return load_ensemble(self.model_folder.path, self.device_name)

    @cached_property
    def _checksum_by_part(self) -> dict[str, str]:
        return checksums_of_parts(self.model_folder)

    def path_of_volume(self, pack: Pack, index: int, *, is_answered: bool) -> Path:
        """The file of a volume's inputs; `is_answered` as in `measure_layer_inputs`."""
        record = pack.records[index]
        made_from = [
            self._checksum_by_part,
            record.checksum,
            record.slice_count,
            dict(pack.slice_format),
            is_answered,
        ]
        return self.folder / f"{digest(made_from)[:24]}.npz"

    def of_volume(self, pack: Pack, index: int, *, is_answered: bool) -> LayerInputs:
        """The inputs for a volume of a pack."""
        path = self.path_of_volume(pack, index, is_answered=is_answered)
        with suppress(OSError, ValueError, KeyError):
            return LayerInputs.from_arrays(read_npz(path))
        stack = pack.stack_of_volume(index)
        inputs = measure_layer_inputs(
            self._networks, self._ensemble, stack, is_answered=is_answered
        )
        arrays = inputs.to_arrays()
        write_npz(path, **arrays)
        return LayerInputs.from_arrays(arrays)


def checksums_of_parts(model_folder: ModelFolder) -> dict[str, str]:
    """The SHA-256 of the parts of a model that the inputs of its last layers depend on, by name."""
    names = [
        *(network.name for network in model_folder.networks),
        novelty.NOVELTY_FILE_NAME,
        orientation.ORIENTATION_FILE_NAME,
    ]
    paths = {name: checked_part_path(model_folder.path, name) for name in names}
    return {name: checksum(path) for name, path in paths.items() if path.exists()}


def is_learned_from(record: VolumeRecord) -> bool:
    """Whether a simulated volume is learned from, beside the user's; the others are answered, and
    say what is forgotten."""
    return record.split == "train"


def write_people(
    run: Run, model_folder: ModelFolder, most_bytes: float, progress: ProgressBar
) -> tuple[Path, SimulatedPeople]:
    """`people.npz` in a model folder, of a run whose slices are cut: simulated people with all their
    volumes, as many as `most_bytes` hold; and these people.

    Raises ModelError "people-few" if nobody is learned from, or nobody is left to be answered.
    """
    pack = run.training_pack.in_classes_of(model_folder.network_vocabulary, run.network_vocabulary)
    measured = MeasuredInputs(
        run.results.folder / "answers", model_folder, run.settings.training.device
    )
    chosen: dict[int, LayerInputs] = {}
    byte_count = 0
    with progress("what the last layers are given") as advance:
        for indices in _volumes_by_person(pack):
            inputs_by_index = {
                index: measured.of_volume(
                    pack, index, is_answered=not is_learned_from(pack.records[index])
                )
                for index in indices
            }
            byte_count += sum(_byte_count(measured, pack, index) for index in indices)
            if byte_count > most_bytes:
                break
            chosen |= inputs_by_index
            advance(int(byte_count), int(most_bytes))
    people = _people_of_pack(pack, dict(sorted(chosen.items())))
    are_learned = {is_learned_from(record) for record in people.records}
    if len(are_learned) < 2:
        raise ModelError(
            "people-few",
            f"{len(people.records)} simulated volumes in {most_bytes / 1e6:g} MB: some must be "
            "learned from and some answered; simulate more people (fovnet phantom --subjects), or "
            "allow more megabytes",
        )
    path = model_folder.path / PEOPLE_FILE_NAME
    facts = {
        "format": PEOPLE_FORMAT,
        "parts": checksums_of_parts(model_folder),
        "volumes": facts_of_record(people.records),
    }
    arrays = {
        f"{number:04d}.{name}": array
        for number, inputs in enumerate(people.inputs)
        for name, array in inputs.to_arrays().items()
    }
    facts_text = json.dumps(facts, sort_keys=True)
    facts_array = np.frombuffer(facts_text.encode(), dtype=np.uint8)
    return write_npz(path, facts=facts_array, **people.pack_arrays, **arrays), people


def _volumes_by_person(pack: Pack) -> list[list[int]]:
    """The labelled volumes of each person, by index: people who are learned from evenly among the
    others, so that as many as fit have the shares of all."""
    indices_by_subject: dict[str, list[int]] = {}
    for index, record in enumerate(pack.records):
        if record.is_labelled and record.status == "ok":
            indices_by_subject.setdefault(record.subject, []).append(index)
    subjects_by_use: dict[bool, list[str]] = {}
    for subject, indices in indices_by_subject.items():
        subjects_by_use.setdefault(is_learned_from(pack.records[indices[0]]), []).append(subject)
    place_by_subject = {
        subject: (rank + 0.5) / len(subjects)
        for subjects in subjects_by_use.values()
        for rank, subject in enumerate(subjects)
    }
    return [
        indices_by_subject[subject]
        for subject in sorted(place_by_subject, key=place_by_subject.__getitem__)
    ]


def _byte_count(measured: MeasuredInputs, pack: Pack, index: int) -> int:
    """The bytes that a volume takes in the file: those of its own, compressed alike, and of its
    record."""
    record = pack.records[index]
    path = measured.path_of_volume(pack, index, is_answered=not is_learned_from(record))
    record_text = json.dumps(facts_of_record(record))
    return path.stat().st_size + len(zlib.compress(record_text.encode()))


def _people_of_pack(pack: Pack, inputs_by_index: Mapping[int, LayerInputs]) -> SimulatedPeople:
    """The volumes of these indices, ascending, of a pack; the paths of their files left out."""
    records = []
    rows_of_volumes = []
    first_row = 0
    for index in inputs_by_index:
        record = pack.records[index]
        rows_of_volumes.append(np.arange(record.first_row, record.first_row + record.slice_count))
        records.append(replace(record, path=f"{record.volume_id}.nii.gz", first_row=first_row))
        first_row += record.slice_count
    rows = np.concatenate([np.empty(0, np.int64), *rows_of_volumes])
    slice_counts = [record.slice_count for record in records]
    pack_arrays = {
        "volume_of_slice": np.repeat(np.arange(len(records)), slice_counts),
        "z_mm": pack.z_mm[rows],
        "slice_ranges": pack.slice_ranges[rows],
        "truth": pack.truth[rows],
    }
    return SimulatedPeople(tuple(records), pack_arrays, tuple(inputs_by_index.values()))


def read_people(model_folder: ModelFolder) -> SimulatedPeople | None:
    """The simulated people of a model folder; None if it has none.

    Raises ModelError "people-damaged" for a file that cannot be read, "people-format" for one of
    another fovnet, and "people-other" for one of other networks.
    """
    path = model_folder.path / PEOPLE_FILE_NAME
    if not path.exists():
        return None
    try:
        arrays = read_npz(path, GREATEST_INFLATED_BYTES)
        facts = json.loads(arrays["facts"].tobytes())
        file_format = facts["format"]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise _damaged(path, fault) from fault
    if file_format != PEOPLE_FORMAT:
        raise ModelError(
            "people-format",
            f"{path}: of format {file_format}, where {PEOPLE_FORMAT} is wanted; {INSTEAD}, install "
            "the fovnet that the model is of, or make the file again (fovnet export people)",
        )
    if facts.get("parts") != checksums_of_parts(model_folder):
        raise ModelError(
            "people-other",
            f"{path}: made for other networks than those beside it; {INSTEAD}, make the file again "
            "(fovnet export people)",
        )
    try:
        return _people_of_arrays(
            facts["volumes"], arrays, len(model_folder.network_vocabulary.classes)
        )
    except (ValueError, KeyError, TypeError, IndexError) as fault:
        raise _damaged(path, fault) from fault


def _damaged(path: Path, fault: Exception) -> ModelError:
    return ModelError(
        "people-damaged",
        f"{path}: cannot be read ({fault}); {INSTEAD}, copy the whole model folder again",
    )


def _people_of_arrays(
    record_facts: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]], class_count: int
) -> SimulatedPeople:
    """The people of the arrays of a file for networks of so many classes.  Raises KeyError, TypeError
    and ValueError for others."""
    arrays_by_number: dict[int, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        number_text, is_of_volume, array_name = name.partition(".")
        if is_of_volume:
            arrays_by_number.setdefault(int(number_text), {})[array_name] = array
    records = tuple(map(record_from_json, record_facts))
    inputs = tuple(LayerInputs.from_arrays(arrays_by_number[i]) for i in range(len(records)))
    names = ("volume_of_slice", "z_mm", "slice_ranges", "truth")
    people = SimulatedPeople(records, {name: arrays[name] for name in names}, inputs)
    slice_counts = [record.slice_count for record in records]
    if [len(volume_inputs.upright) for volume_inputs in inputs] != slice_counts or any(
        len(array) != sum(slice_counts) for array in people.pack_arrays.values()
    ):
        raise ValueError("its arrays are of different lengths")
    if arrays["truth"].shape[1:] != (class_count,):
        raise ValueError(f"its labels are not of the {class_count} classes of the networks")
    if any(record.collection != SIMULATED_COLLECTION for record in records):
        raise ValueError("a volume is not simulated")
    return people
