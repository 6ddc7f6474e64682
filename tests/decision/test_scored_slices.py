"""Volumes of a sliced collection are decided from what was scored once as they are when one is asked about
alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.decision.scored_slices import (
    SCORED_SPLITS,
    ScoredSlices,
    answer_split,
    labelled_volumes,
    tuning_examples,
)
from fovnet.errors import ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.inference.torch_engine import TorchEngine
from fovnet.records import read_npz, write_npz
from fovnet.regions import DEFAULT
from fovnet.volume.collection.pack import Pack, VolumeRecord
from fovnet.volume.formats.nifti import TEMPLATE_NOTE
from fovnet.volume.slices.noisy_air import BLACKENED_NOTE

K = len(DEFAULT.classes)
WEIGHTS = (0.8, 0.2)


def pack_of(sizes: tuple[int, ...]) -> Pack:
    """Volumes of so many slices, five of noise below and the rest of gradients above; the first is never
    scored."""
    rng = np.random.default_rng(0)
    at = np.concatenate([np.arange(size) for size in sizes])
    pixels = np.zeros((len(at), 128, 128), np.uint8)
    for row, height in enumerate(at):
        pixels[row] = (
            rng.integers(0, 256, (128, 128))
            if height < 5
            else np.linspace(0, 20 * height, 128)[None, :].clip(0, 255)
        )
    affine = (
        (8.0, 0.0, 0.0, 0.0),
        (0.0, 8.0, 0.0, 0.0),
        (0.0, 0.0, 8.0, 0.0),
        (0.0, 0.0, 0.0, 1.0),
    )
    records = tuple(
        VolumeRecord(
            f"v{number}",
            f"p{number}",
            "made",
            "v.nii",
            True,
            "ok",
            split,
            {},
            sum(sizes[:number]),
            size,
            400.0,
            affine,
            "c",
        )
        for number, (size, split) in enumerate(
            zip(sizes, ["train", *SCORED_SPLITS, *SCORED_SPLITS], strict=False)
        )
    )
    truth, volume = np.eye(K, dtype=bool)[at % K], np.repeat(np.arange(len(sizes)), sizes)
    return Pack(
        None,
        DEFAULT.classes,
        pixels,
        volume,
        8.0 * at,
        np.stack([at, at], axis=1),
        truth,
        records,
        {},
    )


def ensemble_of(*inputs: str) -> Ensemble:
    """Two networks that nobody trained, which name several regions in most volumes of `pack_of`."""
    members = [
        build_network(
            Architecture(4, 1, 2, 3, False, K, "small", inputs=inputs, stride=2),
            torch.Generator().manual_seed(seed),
        ).eval()
        for seed in (1, 2)
    ]
    return Ensemble(
        DEFAULT, {}, Rule(weights=WEIGHTS), TorchEngine(members, torch.device("cpu")), ""
    )


def scored(pack: Pack, ensemble: Ensemble) -> ScoredSlices:
    rows = np.sort(np.concatenate([pack.rows_in_split(split) for split in SCORED_SPLITS]))
    return ScoredSlices(
        rows, ensemble.compute_outputs(pack.pixels, None, rows, pack.placing), WEIGHTS
    )


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pack, Ensemble, ScoredSlices]:
    """A pack, networks that see its volumes, and their outputs on these, as they come back from the disk."""
    pack, ensemble, remaining = (
        pack_of((9, 12, 1, 10, 14)),
        ensemble_of("slice", "sections"),
        list[int](),
    )
    found = scored(pack, ensemble).with_turned_and_brightened(
        pack, ensemble, lambda done, total: remaining.append(total - done)
    )
    assert remaining == [3, 2, 1, 0]
    path = tmp_path_factory.mktemp("scored") / "probabilities.npz"
    write_npz(path, **found.to_arrays())
    return pack, ensemble, ScoredSlices.from_arrays(read_npz(path))


def test_volumes_are_seen_turned_over_as_one_asked_about_alone_is(
    asked: tuple[Pack, Ensemble, ScoredSlices],
) -> None:
    pack, ensemble, found = asked
    turned = []
    for index in range(1, len(pack.records)):
        seen, alone = (
            found.outputs_of_volume(pack, index),
            ensemble.compute_volume_outputs(pack.stack_of_volume(index)),
        )
        np.testing.assert_allclose(seen.member_probabilities, alone.member_probabilities, atol=1e-6)
        assert (seen.turned_probabilities is None) == (alone.turned_probabilities is None)
        if seen.turned_probabilities is not None and alone.turned_probabilities is not None:
            turned.append(index)
            np.testing.assert_allclose(
                seen.turned_probabilities, alone.turned_probabilities, atol=1e-6
            )
            # or reversing would have done
            assert (
                np.abs(seen.turned_probabilities[:, ::-1] - seen.member_probabilities).max() > 1e-3
            )
    # a single slice has no other way up
    assert 0 < len(turned) < len(pack.records) - 1


@pytest.mark.parametrize("split", SCORED_SPLITS)
def test_what_is_tuned_decided_and_predicted_weighs_the_other_way_up_alike(
    asked: tuple[Pack, Ensemble, ScoredSlices], split: str
) -> None:
    pack, ensemble, found = asked
    judge = replace(ensemble.judge, rule=replace(ensemble.rule, flipped_gain=0.0))
    volumes = [index for index, record in enumerate(pack.records) if record.split == split]
    for index, volume, one in zip(
        volumes,
        answer_split(pack, found, split, judge),
        tuning_examples(pack, found, split),
        strict=True,
    ):
        stack = pack.stack_of_volume(index)
        alone = judge.decide(ensemble.compute_volume_outputs(stack), stack.z_mm)
        tuned = decide_volume(
            one.probabilities, one.z_mm, DEFAULT, judge.rule, one.turned_probabilities
        )
        assert volume.answer.decision.flipped_gain == pytest.approx(alone.flipped_gain, abs=1e-4)
        assert tuned.flipped_gain == pytest.approx(alone.flipped_gain, abs=1e-4)


@pytest.mark.parametrize("inputs", [("slice",), ("slice", "sections")])
def test_dark_slices_are_looked_at_again_as_those_of_a_volume_asked_about_alone_are(
    inputs: tuple[str, ...], tmp_path: Path
) -> None:
    """In one volume of two the lowest 40 mm have a thirtieth of the brightness."""
    pack, ensemble = pack_of((9, 12, 12)), ensemble_of(*inputs)
    pixels = pack.pixels.copy()
    pixels[9:14] = np.linspace(0, 8, 128).astype(np.uint8)[None, None, :]
    pack = replace(pack, pixels=pixels)
    write_npz(
        tmp_path / "p.npz",
        **scored(pack, ensemble)
        .with_turned_and_brightened(pack, ensemble, lambda done, total: None)
        .to_arrays(),
    )
    found = ScoredSlices.from_arrays(read_npz(tmp_path / "p.npz"))
    seen, alone = (
        found.outputs_of_volume(pack, 1).brightened_probabilities,
        ensemble.compute_volume_outputs(pack.stack_of_volume(1)).brightened_probabilities,
    )
    assert seen is not None and alone is not None
    np.testing.assert_allclose(seen, alone, atol=1e-6)
    assert np.isfinite(seen[:, :5]).all() and np.isnan(seen[:, 5:]).all()
    assert found.outputs_of_volume(pack, 2).brightened_probabilities is None


@pytest.mark.parametrize(
    ("note", "code"), [(BLACKENED_NOTE, "noisy-air"), (TEMPLATE_NOTE, "template")]
)
def test_what_reading_noted_is_doubted_in_a_collection_as_in_a_volume_asked_about_alone(
    note: str, code: str
) -> None:
    """The bar is chosen on volumes that are not doubted for another reason, as those of predictions."""
    pack, ensemble = pack_of((9, 12, 12, 12, 12)), ensemble_of("slice")
    pack = replace(
        pack,
        records=tuple(
            replace(one, notes=(note,) if at in (1, 2) else ())
            for at, one in enumerate(pack.records)
        ),
    )
    found = scored(pack, ensemble)
    for split in SCORED_SPLITS:
        answers = [volume.answer for volume in answer_split(pack, found, split, ensemble.judge)]
        assert [code in answer.code_text.split() for answer in answers] == [True, False]
        seen = [one.stack for one in labelled_volumes(pack, found, split)]
        assert [stack.is_noise_blackened or stack.is_in_template for stack in seen] == [True, False]
    stack = pack.stack_of_volume(1)
    assert (
        code
        in ensemble.judge.answer(
            "one", "", ensemble.compute_volume_outputs(stack), stack
        ).code_text.split()
    )
    assert (
        code
        not in ensemble.judge.answer(
            "one", "", ensemble.compute_volume_outputs(stack), replace(stack, notes=())
        ).code_text.split()
    )


def test_a_volume_that_cannot_be_decided_is_refused_and_the_others_are_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pack, ensemble = pack_of((9, 12, 12, 12, 12)), ensemble_of("slice")
    before = [
        volume.answer
        for volume in answer_split(pack, scored(pack, ensemble), "test", ensemble.judge)
    ]
    real, first = Judge.answer, before[0].volume_id
    monkeypatch.setattr(
        Judge,
        "answer",
        lambda judge, name, *given: 1 / 0 if name == first else real(judge, name, *given),
    )
    after = list(answer_split(pack, scored(pack, ensemble), "test", ensemble.judge))
    assert [volume.answer.code for volume in after] == [
        "internal",
        *(answer.code for answer in before[1:]),
    ]
    assert after[0].stack is None and after[0].raw_probabilities is None
    assert [volume.answer.code_text for volume in after[1:]] == [
        answer.code_text for answer in before[1:]
    ]


def test_networks_that_are_shown_slices_alone_keep_nothing_of_it(tmp_path: Path) -> None:
    pack = pack_of((9, 12))
    found = scored(pack, ensemble_of("slice", "millimetres"))
    assert (
        "turned" not in found.to_arrays()
        and found.outputs_of_volume(pack, 1).turned_probabilities is None
    )


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        (("chest",), False),
        (("chest", "none"), False),
        (("chest", "spine"), False),
        (("chest", "head"), True),
    ],
)
def test_a_volume_is_seen_turned_over_where_several_regions_of_the_body_are_named(
    named: tuple[str, ...], asked: bool
) -> None:
    pack, ensemble = pack_of((9, 12)), ensemble_of("slice", "sections")
    member = np.eye(K, dtype=np.float32)[
        [DEFAULT.classes.index(named[row % len(named)]) for row in range(12)]
    ]
    outputs = ensemble.add_turned_outputs(
        MemberOutputs(np.stack([member, member])), pack.stack_of_volume(1)
    )
    assert (outputs.turned_probabilities is not None) == asked


def test_volumes_that_were_not_scored_are_refused_and_those_that_could_not_be_sliced_are_passed_over() -> (
    None
):
    """The first of the volumes, which lies before all rows that were scored, and the last, of which three are
    missing."""
    pack = pack_of((9, 12, 7))
    members = np.full((1, 16, K), 1 / K, dtype=np.float32)
    found = ScoredSlices(np.arange(9, 25), MemberOutputs(members))
    for index in (0, 2):
        with pytest.raises(ModelError, match="have no scores"):
            found.outputs_of_volume(pack, index)
    refused = replace(pack, records=(*pack.records[:2], replace(pack.records[2], status="refused")))
    assert labelled_volumes(refused, found, "test") == []
    assert len(tuning_examples(refused, found, "validation")) == 1


def test_slices_of_one_person_are_of_one_whatever_volume_they_are_in() -> None:
    pack = pack_of((9, 12, 7, 8))
    pack = replace(
        pack,
        records=tuple(
            replace(one, split="validation", subject_id=subject)
            for one, subject in zip(pack.records, "abab", strict=True)
        ),
    )
    _, _, people = ScoredSlices(
        np.arange(36), MemberOutputs(np.full((1, 36, K), 1 / K, dtype=np.float32))
    ).outputs_of_split(pack, "validation")
    assert [len(set(part)) for part in np.split(people, [9, 21, 28])] == [1] * 4
    assert people[0] == people[21] != people[9] == people[28]
