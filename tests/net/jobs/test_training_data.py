"""What a search depends on: where any of it changes, another journal is begun, and where nothing of it
changes none is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.net.family.architecture import Architecture
from fovnet.net.jobs.training_data import labelled_slices_of, training_fingerprint
from fovnet.net.recipe import Recipe
from fovnet.net.training.train import place_on_device, train_network
from fovnet.regions import DEFAULT
from fovnet.volume.collection.pack import Pack, VolumeRecord
from fovnet.volume.slices.placing import Placing

SPLITS = ("train", "", "validation", "test", "train", "validation")


def made(splits: tuple[str, ...] = SPLITS, known: tuple[int, ...] | None = None) -> Pack:
    """A pack of volumes of three slices, the content of each by its number in `known`; "" is not labelled."""
    known = known or tuple(range(len(splits)))
    records, pixels, truth, z_mm = [], [], [], []
    for at, (number, split) in enumerate(zip(known, splits, strict=True)):
        rng = np.random.default_rng(number)
        name = f"v{number}"
        records.append(
            VolumeRecord(
                name,
                f"p{number}",
                "made",
                f"{name}.nii",
                bool(split),
                "ok",
                split,
                {},
                3 * at,
                3,
                300.0 + number,
            )
        )
        pixels.append(rng.integers(0, 255, (3, 128, 128), dtype=np.uint8))
        truth.append(np.eye(len(DEFAULT.classes), dtype=bool)[rng.integers(0, 7, 3)])
        z_mm.append(6.0 * np.arange(3) + number)
    covers = np.zeros((3 * len(splits), 2), np.int64)
    return Pack(
        Path("unused"),
        DEFAULT.classes,
        np.concatenate(pixels),
        np.repeat(np.arange(len(splits)), 3),
        np.concatenate(z_mm),
        covers,
        np.concatenate(truth),
        tuple(records),
        {},
    )


def changed(pack: Pack, row: int, what: str) -> Pack:
    """The pack with one slice's pixel, label, height, or its volume's size, another one."""
    if what == "side":
        records = list(pack.records)
        records[pack.volume_of_slice[row]] = replace(
            records[pack.volume_of_slice[row]], side_mm=299.0
        )
        return replace(pack, records=tuple(records))
    arrays = {"pixel": pack.pixels.copy(), "label": pack.truth.copy(), "height": pack.z_mm.copy()}
    if what == "pixel":
        arrays[what][row, 5, 5] ^= 1
    elif what == "label":
        arrays[what][row] = np.roll(arrays[what][row], 1)
    else:
        arrays[what][row] += 0.5
    return replace(pack, pixels=arrays["pixel"], truth=arrays["label"], z_mm=arrays["height"])


def test_the_same_slices_under_another_name_are_learned_anew() -> None:
    """Networks carry the names of their classes and how slices were cut, and an ensemble refuses those of
    others."""
    pack = made()
    for other in (
        replace(pack, classes=("hips", *pack.classes[1:])),
        replace(pack, slice_format={"target_spacing_mm": 3.2}),
    ):
        assert training_fingerprint(other) != training_fingerprint(pack)


@pytest.mark.parametrize("what", ["pixel", "label", "height", "side"])
def test_what_no_training_sees_repeats_none_and_what_one_sees_does(what: str) -> None:
    """Volumes 1 and 3 are not labelled and of the test split."""
    pack = made()
    before = training_fingerprint(pack)
    for volume, split in enumerate(SPLITS):
        assert (training_fingerprint(changed(pack, 3 * volume + 1, what)) != before) == (
            split in ("train", "validation")
        )


def test_other_volumes_between_those_learned_from_change_nothing_and_another_split_or_order_does() -> (
    None
):
    before = training_fingerprint(made())
    more = made(
        ("", "train", "test", "", "validation", "train", "validation"), (9, 0, 3, 8, 2, 4, 5)
    )
    assert training_fingerprint(more) == before
    assert (
        training_fingerprint(made(("validation", "", "train", "test", "train", "validation")))
        != before
    )
    assert training_fingerprint(made(SPLITS, (4, 1, 2, 3, 0, 5))) != before


@pytest.mark.parametrize("sampling", ["slices", "volumes"])
def test_where_in_a_pack_slices_lie_changes_no_training(
    draw, recipe: Recipe, tmp_path: Path, sampling: str
) -> None:
    """Volumes of seven slices before them, and of twenty between those learned from and those scored on: the
    same losses, to the bit, of networks that see neighbours, sizes and sections."""
    kinds = ("slice", "neighbours", "millimetres", "sections")
    mine, others = draw(96, 1), draw(27, 2)
    placing = [np.full(96, 300.0), np.repeat(np.arange(12), 8), 5.0 * (np.arange(96) % 8)]
    beyond = [np.full(27, 200.0), np.repeat([20, 21], [7, 20]), 3.0 * np.arange(27)]

    def losses(first: int, last: int) -> tuple[list[float], list[float]]:
        """Of a training where so many others lie before the 64 slices learned from, and before the 32 scored
        on."""

        def among(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.concatenate([b[:first], a[:64], b[first:last], a[64:]])

        placed = Placing(*(among(a, b) for a, b in zip(placing, beyond, strict=True)))
        data = place_on_device(
            *(among(a, b) for a, b in zip(mine, others, strict=True)),
            np.arange(64) + first,
            np.arange(64, 96) + last,
            torch.device("cpu"),
            placed,
            kinds,
        )
        end = train_network(
            Architecture(4, 1, 3, 3, False, classes=3, head="gap", inputs=kinds),
            learning_rate=0.03,
            batch_size=8,
            seed=5,
            data=data,
            recipe=replace(recipe, sampling=sampling),
            weights_path=tmp_path / f"{first}.safetensors",
            network_facts={},
        )
        return end.training_losses, end.validation_losses

    assert losses(0, 0) == losses(7, 27)


def test_all_trials_of_a_seed_are_scored_on_the_same_slices_and_on_all_where_there_are_no_more() -> (
    None
):
    data = labelled_slices_of(made())
    few, again, other = (data.with_validation_rows(4, seed).validation_rows for seed in (1, 1, 2))
    assert few.tolist() == again.tolist() != other.tolist() and len(set(few.tolist())) == 4
    assert set(few.tolist()) < set(data.validation_rows.tolist()) and few.tolist() == sorted(
        few.tolist()
    )
    for count in (None, 99):
        np.testing.assert_array_equal(
            data.with_validation_rows(count, 1).validation_rows, np.sort(data.validation_rows)
        )
