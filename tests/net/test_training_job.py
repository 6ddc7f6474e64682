"""What a search depends on: where any of it changes, another journal is begun, and where nothing of it changes none is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.net.architecture import Architecture
from fovnet.net.training import Recipe, place, train_network
from fovnet.net.training_job import training_fingerprint
from fovnet.regions import DEFAULT
from fovnet.volume.pack import Pack, VolumeRecord

SPLITS = ("train", "", "validation", "test", "train", "validation")


def made(splits: tuple[str, ...] = SPLITS, known: tuple[int, ...] | None = None) -> Pack:
    """A pack of volumes of three slices, the content of each by its number in `known`; "" is not labelled."""
    known = known or tuple(range(len(splits)))
    records, pixels, truth, z_mm = [], [], [], []
    for at, (number, split) in enumerate(zip(known, splits, strict=True)):
        rng = np.random.default_rng(number)
        name = f"v{number}"
        records.append(VolumeRecord(name, f"p{number}", "made", f"{name}.nii", bool(split), "ok", split, {}, 3 * at, 3, 300.0 + number))
        pixels.append(rng.integers(0, 255, (3, 128, 128), dtype=np.uint8))
        truth.append(np.eye(len(DEFAULT.classes), dtype=bool)[rng.integers(0, 7, 3)])
        z_mm.append(6.0 * np.arange(3) + number)
    covers = np.zeros((3 * len(splits), 2), np.int64)
    return Pack(Path("unused"), DEFAULT.classes, np.concatenate(pixels), np.repeat(np.arange(len(splits)), 3), np.concatenate(z_mm), covers,
                np.concatenate(truth), tuple(records), {})


def changed(pack: Pack, row: int, what: str) -> Pack:
    """The pack with one slice's pixel, label, height, or its volume's size, another one."""
    if what == "side":
        records = list(pack.records)
        records[pack.volume[row]] = replace(records[pack.volume[row]], side_mm=299.0)
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
    """Networks carry the names of their classes, and an ensemble refuses those of others: trials under the old ones are of no use to it."""
    pack = made()
    renamed = replace(pack, classes=("hips", *pack.classes[1:]))
    assert training_fingerprint(renamed) != training_fingerprint(pack) == training_fingerprint(replace(pack, looks={}))


@pytest.mark.parametrize("what", ["pixel", "label", "height", "side"])
def test_what_no_training_sees_repeats_none_and_what_one_sees_does(what: str) -> None:
    """Volumes 1 and 3 are not labelled and of the test split."""
    pack = made()
    before = training_fingerprint(pack)
    for volume, split in enumerate(SPLITS):
        assert (training_fingerprint(changed(pack, 3 * volume + 1, what)) != before) == (split in ("train", "validation"))


def test_other_volumes_between_those_learned_from_change_nothing_and_another_split_or_order_does() -> None:
    before = training_fingerprint(made())
    more = made(("", "train", "test", "", "validation", "train", "validation"), (9, 0, 3, 8, 2, 4, 5))
    assert training_fingerprint(more) == before
    assert training_fingerprint(made(("validation", "", "train", "test", "train", "validation"))) != before
    assert training_fingerprint(made(SPLITS, (4, 1, 2, 3, 0, 5))) != before


def test_where_in_a_pack_slices_lie_changes_no_training(draw, recipe: Recipe, tmp_path: Path) -> None:
    """Seven other slices before them, and twenty between those learned from and those scored on: the same losses, to the bit."""
    pixels, targets = draw(96, 1)
    others, shown = draw(27, 2)
    shifted = [np.concatenate([a[:7], b[:64], a[7:], b[64:]]) for a, b in ((others, pixels), (shown, targets))]
    ends = [
        train_network(
            Architecture(4, 1, 3, 3, False, classes=3, head="gap"), learning_rate=0.03, batch=8, seed=5, recipe=recipe, facts={},
            data=place(*slices, np.arange(64) + first, np.arange(64, 96) + last, torch.device("cpu")),
            keep=tmp_path / f"{first}.safetensors",
        )
        for slices, first, last in (((pixels, targets), 0, 0), (shifted, 7, 27))
    ]
    assert ends[0].validation_loss == ends[1].validation_loss and ends[0].training_loss == ends[1].training_loss
