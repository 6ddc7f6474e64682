"""One road from the members to the answer, and what is fitted before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from fovnet.decision.assembly import write_ensemble
from fovnet.decision.chain.margins import find_air, find_signal_rows
from fovnet.decision.chain.spans import Decision, class_of_labels, decide_volume
from fovnet.decision.checks import members_disagree, out_of_order, unlike_training
from fovnet.decision.confidence_bar import LOWEST_BAR
from fovnet.decision.doubts import are_reasons, find_doubts
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.fitting.thresholds import LabelledVolume, _is_exact, fit_thresholds
from fovnet.decision.fitting.tuning import are_classes_right
from fovnet.decision.folder import ModelFolder, save_rule
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.novelty import calibrate_reference, fit_reference
from fovnet.decision.rule import Rule
from fovnet.decision.scored_slices import ScoredSlices
from fovnet.errors import ModelError
from fovnet.net.family.weights import save_tensors
from fovnet.records import read_npz, write_npz
from fovnet.regions import DEFAULT
from fovnet.volume.slices.stack import cut_slices
from fovnet.volume.volume import Volume
from tests.decision.measured import known_of, signs_of, stack_of

Bodies = Callable[..., TuningExample]


def seen(example: TuningExample, seed: int, members: int = 3) -> MemberOutputs:
    """Members that nearly agree."""
    score = np.log(example.probabilities) + np.random.default_rng(seed).normal(
        scale=0.2, size=(members, *example.probabilities.shape)
    )
    p = np.exp(score)
    return MemberOutputs((p / p.sum(axis=2, keepdims=True)).astype(np.float32))


def pixels_of(example: TuningExample, seed: int) -> np.ndarray:
    """Slices whose block means change slowly from feet to head."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(0, 3, len(example.z_mm))[:, None, None]
    wave = np.sin(np.arange(128) / 20 + ramp) + np.cos(np.arange(128)[:, None] / 15 + ramp)
    return (120 + 50 * wave + rng.normal(scale=5, size=wave.shape)).clip(0, 255).astype(np.uint8)


def shown(
    example: TuningExample, seed: int, outputs: MemberOutputs | None = None
) -> LabelledVolume:
    stack = stack_of(pixels_of(example, seed), example.z_mm)
    return LabelledVolume(f"s{seed // 2}", outputs or seen(example, seed), stack, example.truth)


def agreement_of(judge: Judge, outputs: MemberOutputs, example: TuningExample, seed: int) -> float:
    """The mean over the slices."""
    signs = signs_of(judge, outputs, stack_of(pixels_of(example, seed), example.z_mm))
    return float(signs.value_of(members_disagree.CHECK).mean())


def decided(judge: Judge, one: LabelledVolume) -> Decision:
    return judge.decide(one.outputs, one.stack.z_mm, one.stack.edges_mm)


def test_the_members_weights_are_the_rules_and_another_number_is_refused(bodies: Bodies) -> None:
    outputs = seen(bodies(1), 1)
    judge = Judge(DEFAULT, Rule(weights=(0.5, 0.0, 0.5)))
    np.testing.assert_allclose(
        judge.mean_probabilities(outputs),
        (outputs.member_probabilities[0].astype(float) + outputs.member_probabilities[2]) / 2,
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        Judge(DEFAULT, Rule()).mean_probabilities(outputs),
        outputs.member_probabilities.mean(axis=0, dtype=float),
    )
    with pytest.raises(ModelError, match="weights 2 members, but there are 3"):
        Judge(DEFAULT, Rule(weights=(0.5, 0.5))).mean_probabilities(outputs)


def test_fitting_thresholds_leaves_bodies_answered_and_confidences_honest(bodies: Bodies) -> None:
    """Overconfident by plan: every probability ** 3.  After fitting, mean confidence and share right agree
    on other bodies."""
    examples = [bodies(seed, noise=3.0) for seed in range(44)]
    # bodies as noisy as these are usual
    rule = Rule(temperature=1 / 3, evidence_mm=1.0, usual_misfit=10.0, usual_roughness=0.99)
    judge, facts, _ = fit_thresholds(
        Judge(DEFAULT, rule),
        [shown(one, seed) for seed, one in enumerate(examples[:24])],
        stated_error=0.2,
        at_risk=0.1,
        seed=1,
    )
    stated, hit = [], []
    for seed, one in enumerate(examples[24:], start=24):
        decision = judge.decide(seen(one, seed), one.z_mm)
        stated.append(decision.slice_confidence)
        hit.append(
            are_classes_right(
                class_of_labels(decision.decided_labels, len(DEFAULT.chain)), one.truth
            )
        )
    assert np.concatenate(stated).mean() == pytest.approx(np.concatenate(hit).mean(), abs=0.02)
    raw = [
        Judge(DEFAULT, rule).decide(seen(one, seed), one.z_mm).slice_confidence.mean()
        for seed, one in enumerate(examples[24:], start=24)
    ]
    assert abs(np.mean(raw) - np.concatenate(hit).mean()) > abs(
        np.concatenate(stated).mean() - np.concatenate(hit).mean()
    )
    assert LOWEST_BAR <= judge.rule.min_confidence <= 1
    assert facts["subjects"] == 12 and facts["volumes"] == 24 and facts["curve"]


def test_on_the_volumes_it_was_fitted_to_confidence_is_right_on_average_odd_bodies_among_them(
    bodies: Bodies,
) -> None:
    """The likeliest logistic model with an intercept predicts as many hits as there are, in sum: of
    disordered bodies too.

    Half of the bodies are rougher than usual, so that they are trusted by half.
    """
    examples = [bodies(seed, noise=3.0 if seed % 2 else 4.5) for seed in range(40)]
    rule = Rule(temperature=1 / 3, evidence_mm=1.0, usual_misfit=10.0, usual_roughness=0.85)
    volumes = [shown(one, seed) for seed, one in enumerate(examples)]
    judge, *_ = fit_thresholds(Judge(DEFAULT, rule), volumes, stated_error=0.2, at_risk=0.1, seed=1)
    decisions = [decided(judge, one) for one in volumes]
    stated = np.concatenate([decision.slice_confidence for decision in decisions])
    hit = np.concatenate(
        [
            are_classes_right(class_of_labels(decision.decided_labels, 5), one.truth)
            for decision, one in zip(decisions, volumes, strict=True)
        ]
    )
    # of which at most two thirds are believed
    assert sum(decision.roughness > 0.9 for decision in decisions) >= 10
    assert stated.mean() == pytest.approx(hit.mean(), abs=0.004)


@pytest.mark.parametrize("slices", [3, 4, 41, 43])
def test_spans_end_where_the_volume_ends(slices: int) -> None:
    """Slices of 2 mm in cuts of two: the last takes what is left over, and of three slices there is but one
    cut."""
    voxels = np.random.default_rng(1).random((16, 16, slices)).astype(np.float32)
    stack = cut_slices(Volume(voxels, np.diag([10.0, 10.0, 2.0, 1.0]), "made"))
    chest = np.full((1, len(stack.z_mm), len(DEFAULT.classes)), 0.01, dtype=np.float32)
    chest[:, :, DEFAULT.classes.index("chest")] = 0.94
    (span,) = (
        Judge(DEFAULT, Rule()).answer("a", "a.nii", MemberOutputs(chest), stack).decision.spans
    )
    assert (span.region, span.from_mm, span.to_mm) == (
        "chest",
        -1.0,
        pytest.approx(2.0 * slices - 1.0),
    )


def test_members_that_contradict_each_other_are_a_reason(bodies: Bodies) -> None:
    examples = [bodies(seed, noise=0.7) for seed in range(20)]
    judge, *_ = fit_thresholds(
        Judge(DEFAULT, Rule()),
        [shown(one, seed) for seed, one in enumerate(examples)],
        stated_error=0.05,
        at_risk=0.1,
        seed=1,
    )
    assert 0 < judge.rule.least_agreement < 1
    apart = MemberOutputs(
        np.stack([np.roll(examples[0].probabilities, shift, axis=1) for shift in range(3)]).astype(
            np.float32
        )
    )
    assert agreement_of(judge, apart, examples[0], 0) < judge.rule.least_agreement
    assert agreement_of(judge, seen(examples[1], 1), examples[1], 1) > judge.rule.least_agreement


def test_a_member_without_a_say_contradicts_nobody(bodies: Bodies) -> None:
    example = bodies(1, noise=0.7)
    outputs = seen(example, 1)
    odd = replace(
        outputs,
        member_probabilities=np.concatenate(
            [outputs.member_probabilities[:2], outputs.member_probabilities[2:, :, ::-1]]
        ),
    )
    judges = [Judge(DEFAULT, Rule(weights=weights)) for weights in ((), (0.5, 0.5, 0.0))]
    apart, alike = (agreement_of(judge, odd, example, 1) for judge in judges)
    two = agreement_of(
        Judge(DEFAULT, Rule()),
        replace(outputs, member_probabilities=outputs.member_probabilities[:2]),
        example,
        1,
    )
    assert apart < 0.7 < 0.9 < alike == pytest.approx(two)


def test_black_margins_hide_no_passes(bodies: Bodies) -> None:
    """Odd slices first, then even ones, and thirty black ones above."""
    pixels = pixels_of(bodies(1), 1)
    acquired = np.concatenate([pixels[::2], pixels[1::2]])
    padded = np.pad(acquired, ((0, 30), (0, 0), (0, 0)))
    outputs = MemberOutputs(
        np.full((2, len(padded), len(DEFAULT.classes)), 1 / 7, dtype=np.float32)
    )
    known = known_of(Judge(DEFAULT, Rule()), outputs, stack_of(padded))
    assert out_of_order.measure(known).pass_count == 2


def test_features_never_seen_are_a_reason_and_without_features_novelty_is_not_known(
    bodies: Bodies,
) -> None:
    rng = np.random.default_rng(0)
    example = bodies(1, noise=0.7)
    what = fit_reference(
        rng.normal(size=(500, 6)), np.eye(len(DEFAULT.classes), dtype=bool)[rng.integers(0, 7, 500)]
    )
    held = rng.normal(size=(400, 6))
    what = calibrate_reference(
        what, what.measure_distances(held), np.eye(len(DEFAULT.classes))[rng.integers(0, 7, 400)]
    )
    judge, stack = Judge(DEFAULT, Rule(), what), stack_of(pixels_of(example, 1), example.z_mm)
    s = len(example.z_mm)
    usual = replace(
        seen(example, 1), novelty_distances=what.measure_distances(rng.normal(size=(s, 6)))
    )
    strange = replace(
        usual, novelty_distances=what.measure_distances(rng.normal(loc=9, size=(s, 6)))
    )
    novelty, high, unknown = (
        unlike_training.measure(known_of(judge, outputs, stack))
        for outputs in (usual, strange, seen(example, 1))
    )
    assert novelty.volume_p_value == pytest.approx(0.5, abs=0.15)
    assert high.volume_p_value == pytest.approx(0.0, abs=0.03)
    assert high.slice_p_values.shape == (s,) and high.slice_p_values.max() < 0.1
    assert unknown is None


def test_probabilities_on_disk_come_back(bodies: Bodies, tmp_path: Path) -> None:
    outputs = seen(bodies(1), 1)
    rows = np.arange(outputs.member_probabilities.shape[1])
    scored = ScoredSlices(rows, replace(outputs, novelty_distances=rows / 7.0), (0.2, 0.3, 0.5))
    write_npz(tmp_path / "p.npz", **scored.to_arrays())
    again = ScoredSlices.from_arrays(read_npz(tmp_path / "p.npz"))
    np.testing.assert_array_equal(again.outputs.member_probabilities, outputs.member_probabilities)
    np.testing.assert_array_equal(again.outputs.novelty_distances, scored.outputs.novelty_distances)
    assert again.weights == (0.2, 0.3, 0.5)


def test_every_part_of_the_rule_is_written_and_read(tmp_path: Path) -> None:
    floors = {
        "least_novelty": 0.03,
        "least_agreement": 0.7,
        "least_upright": 0.02,
        "least_extent_mm": 80.0,
    }
    rule = Rule(weights=(0.25, 0.75), beta=(0.9, 1.1, -0.2, 0.0, 0.0), **floors)
    save_rule(tmp_path, rule, {}, settings={}, seed=1)
    assert ModelFolder(tmp_path).rule == rule


def test_a_rule_with_settings_by_their_older_names_is_read() -> None:
    values = {"protocol_threshold": 0.4, "beside_protocol": 0.1, "heights": []}
    assert Rule.from_values(values) == Rule(side_threshold=0.4, chain_share_in_side=0.1)


def test_what_was_found_for_other_members_does_not_survive(tmp_path: Path) -> None:
    for stale in ("weighing.json", "novelty.npz", "decision.json", "orientation.safetensors"):
        (tmp_path / stale).write_bytes(b"old")
    weights = tmp_path / "slot-0001.safetensors"
    save_tensors(weights, {"any": torch.zeros(1)}, {})
    write_ensemble(
        tmp_path, [{"slot": 1, "weights": str(weights)}], DEFAULT, {}, settings={}, seed=1
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ensemble.json",
        "member-0001.safetensors",
        "slot-0001.safetensors",
    ]


@pytest.mark.parametrize(("mm", "doubted"), [(5.0, False), (0.5, True)])
def test_a_mouse_is_no_person(bodies: Bodies, mm: float, doubted: bool) -> None:
    """The same pixels at a tenth of the size: whatever is surely predicted of a person is not surely
    predicted of it."""
    voxels = np.tile(np.linspace(0, 900, 60, dtype=np.float32)[:, None, None], (1, 60, 80))
    stack = cut_slices(Volume(voxels, np.diag([mm, mm, mm, 1.0]), "one"), target_spacing_mm=mm)
    example = bodies(1, noise=0.5)
    outputs = seen(replace(example, probabilities=example.probabilities[: len(stack.z_mm)]), 1)
    codes = (
        Judge(DEFAULT, Rule(least_extent_mm=80.0))
        .answer("one", "one.nii", outputs, stack)
        .code_text
    )
    assert ("too-small" in codes.split()) == doubted


def test_a_set_that_is_rather_another_is_withheld_before_the_bar_is_chosen(bodies: Bodies) -> None:
    """The promise counts the volumes that are answered, so what a doubt withholds afterwards is withheld in
    it too."""
    few = bodies(0, noise=0.5)
    # three slices: too few
    guess = TuningExample(few.probabilities[:3], few.z_mm[:3], few.truth[:3])
    volumes = [shown(bodies(seed, noise=0.5), seed) for seed in range(8)] + [shown(guess, 8)]
    judge, facts, _ = fit_thresholds(
        Judge(DEFAULT, Rule()), volumes, stated_error=0.2, at_risk=0.1, seed=1
    )
    unbarred = replace(judge.rule, min_confidence=0.0)
    answered = [
        not are_reasons(
            find_doubts(decided(judge, one), signs_of(judge, one.outputs, one.stack), unbarred)
        )
        for one in volumes
    ]
    assert not answered[-1]
    assert facts["curve"][-1]["volumes"] == sum(answered)


def a_part(seed: int, bodies: Bodies) -> LabelledVolume:
    """Eight to 21 slices of 20 mm of a body; of every third a spine is labelled too, and of half of those
    nothing else."""
    one, rng = (
        bodies(seed, spacing_mm=20.0, noise=2.0, spine=seed % 3 == 0),
        np.random.default_rng(seed),
    )
    low = int(rng.integers(0, 20))
    rows = slice(low, low + int(rng.integers(8, 22)))
    truth = one.truth[rows].copy()
    if seed % 6 == 0:
        truth[truth[:, len(DEFAULT.chain)], : len(DEFAULT.chain)] = False
    return shown(TuningExample(one.probabilities[rows], one.z_mm[rows], truth), seed)


def is_exact(regions: set[str], truth: np.ndarray) -> bool:
    """Of a spine that alone is labelled the regions beside it are not held against an answer; of a spine
    answered alone nor those true."""
    true = {
        name
        for name, there in zip(DEFAULT.classes[:-1], truth[:, :-1].any(axis=0), strict=True)
        if there
    }
    alone = regions == {"spine"}
    if (
        truth[:, DEFAULT.classes.index("spine")] & ~truth[:, : len(DEFAULT.chain)].any(axis=1)
    ).any():
        regions = {name for name in regions if name == "spine" or name in true}
    return regions == (true & {"spine"} if alone else true)


@pytest.mark.parametrize(
    ("predicted", "true", "exact"),
    [
        ("chest+spine", "spine", True),
        ("chest", "spine", False),
        ("spine", "chest+spine", True),
        ("spine", "chest", False),
        ("none", "chest", False),
        ("none", "none", True),
        ("chest abdomen", "chest none", False),
        ("chest", "chest+spine", False),
        ("chest+spine chest+spine", "spine chest+spine", True),
        ("head+spine chest+spine", "spine chest+spine", True),
        ("head+spine head+spine", "spine chest+spine", False),
    ],
)
def test_a_set_is_right_where_it_is_the_set_that_was_labelled(
    predicted: str, true: str, exact: bool, bodies: Bodies
) -> None:
    """Slice by slice: of a spine that alone is labelled the regions beside it are not held against an answer,
    nor one of a spine alone for leaving out the regions there."""
    shows = {
        each: np.array(
            [[name in one.split("+") for name in DEFAULT.classes] for one in each.split()]
        )
        for each in (predicted, true)
    }
    one, judge = shown(bodies(1), 1), Judge(DEFAULT, Rule())
    decision = replace(decided(judge, one), decided_labels=shows[predicted])
    assert _is_exact(decision, replace(one, truth=shows[true]), judge) == exact


def test_what_is_fitted_is_what_others_make_of_the_same_answers(bodies: Bodies) -> None:
    """The probability of a set by scikit-learn's logistic regression, of the decisions once slices are
    calibrated, where the least sure span carries all the evidence and the chance itself would get a weight
    below 0, which no calibration allows; the floors by counting: one in twenty of 121 is below the sixth
    smallest; the curve by the answers as they are graded."""
    rng = np.random.default_rng(0)
    what = fit_reference(
        rng.normal(size=(500, 6)), np.eye(len(DEFAULT.classes), dtype=bool)[rng.integers(0, 7, 500)]
    )
    what = calibrate_reference(
        what,
        what.measure_distances(rng.normal(size=(400, 6))),
        np.eye(len(DEFAULT.classes))[rng.integers(0, 7, 400)],
    )
    volumes = [a_part(seed, bodies) for seed in range(120)]
    distances = [what.measure_distances(rng.normal(size=(len(one.truth), 6))) for one in volumes]
    volumes = [
        replace(one, outputs=replace(one.outputs, novelty_distances=far))
        for one, far in zip(volumes, distances, strict=True)
    ]
    judge = Judge(DEFAULT, Rule(usual_misfit=10.0, usual_roughness=0.99), what)
    fitted, facts, _ = fit_thresholds(judge, volumes, stated_error=0.2, at_risk=0.1, seed=1)

    sliced = replace(judge, rule=replace(judge.rule, beta=fitted.rule.beta))
    decisions = [decided(sliced, one) for one in volumes]
    sides = logit(
        np.clip(
            [
                [one.set_probability, min(span.confidence for span in one.spans)]
                for one in decisions
            ],
            1e-4,
            1 - 1e-4,
        )
    )
    exact = [
        is_exact({span.region for span in one.spans}, each.truth)
        for one, each in zip(decisions, volumes, strict=True)
    ]
    both, least = (
        LogisticRegression(C=np.inf, tol=1e-10).fit(each, exact) for each in (sides, sides[:, 1:])
    )
    assert 20 < sum(exact) < 100 and both.coef_[0, 0] < 0
    assert fitted.rule.line == pytest.approx(
        (0.0, least.intercept_[0], least.coef_[0, 0]), abs=5e-3
    )

    signs = [signs_of(judge, one.outputs, one.stack) for one in volumes]
    assert (
        fitted.rule.least_novelty
        == sorted(sign.value_of(unlike_training.CHECK).volume_p_value for sign in signs)[5]
    )
    assert (
        fitted.rule.least_agreement
        == sorted(sign.value_of(members_disagree.CHECK).mean() for sign in signs)[5]
    )
    sure = {decided(fitted, one).volume_confidence for one in volumes}
    assert {point["bar"] for point in facts["curve"]} <= sure and len(facts["curve"]) > 10


@pytest.mark.parametrize(("below", "above"), [(0, 9), (12, 0), (7, 5)])
def test_black_margins_show_none_whatever_networks_make_of_them(
    bodies: Bodies, below: int, above: int
) -> None:
    """The rest is decided as it is alone: a volume padded with black slices gets the answer that it got
    before."""
    one = bodies(3, empty_mm=0.0)
    outputs, step = seen(one, 3), float(one.z_mm[1] - one.z_mm[0])
    s, n, (p, k) = (
        len(one.z_mm),
        len(DEFAULT.chain),
        (outputs.member_probabilities.shape[0], outputs.member_probabilities.shape[2]),
    )
    pelvis = np.where(np.arange(k) == DEFAULT.chain.index("pelvis"), 0.9, 0.1 / (k - 1)).astype(
        np.float32
    )
    black = [np.broadcast_to(pelvis, (p, rows, k)) for rows in (below, above)]
    padded = MemberOutputs(
        np.concatenate([black[0], outputs.member_probabilities, black[1]], axis=1)
    )
    z_mm = one.z_mm[0] + step * np.arange(-below, s + above)
    dark = np.ones(len(z_mm), dtype=bool)
    dark[below : below + s] = False

    alone, whole = (
        Judge(DEFAULT, Rule()).decide(outputs, one.z_mm),
        Judge(DEFAULT, Rule()).decide(padded, z_mm, is_air=dark),
    )
    expected = np.pad(
        class_of_labels(alone.decided_labels, n), (below, above), constant_values=k - 1
    )
    np.testing.assert_array_equal(class_of_labels(whole.decided_labels, n), expected)
    assert [(span.region, span.from_mm, span.to_mm, span.confidence) for span in whole.spans] == [
        (
            span.region,
            pytest.approx(span.from_mm),
            pytest.approx(span.to_mm),
            pytest.approx(span.confidence),
        )
        for span in alone.spans
    ]
    assert all(
        whole.decided_labels[span.first : span.last + 1, DEFAULT.classes.index(span.region)].all()
        for span in whole.spans
    )
    assert whole.observation_count == alone.observation_count
    assert (whole.volume_confidence, whole.set_probability) == (
        pytest.approx(alone.volume_confidence),
        pytest.approx(alone.set_probability),
    )
    np.testing.assert_array_equal(
        whole.smoothed_probabilities[dark], np.eye(k)[np.full(dark.sum(), k - 1)]
    )
    assert (whole.slice_confidence[dark] == 1).all()
    mistaken = Judge(DEFAULT, Rule()).decide(padded, z_mm)
    assert not mistaken.decided_labels[dark, -1].all()


def test_black_margins_do_not_shift_what_is_seen_in_a_volume_turned_over(bodies: Bodies) -> None:
    """Whose margins stand the other way round; what networks make of them there does not show which way is
    up."""
    one = bodies(3, empty_mm=0.0)
    outputs = seen(one, 3)
    over = seen(replace(one, probabilities=one.probabilities[::-1]), 4).member_probabilities
    black = np.full((3, 12, over.shape[2]), 1 / over.shape[2], dtype=np.float32)
    members, turned = (
        np.concatenate([outputs.member_probabilities, black], axis=1),
        np.concatenate([black, over], axis=1),
    )
    z_mm = one.z_mm[0] + 5.0 * np.arange(members.shape[1])
    rule = Rule(weights=(0.6, 0.4, 0.0))
    alone = Judge(DEFAULT, rule).decide(replace(outputs, turned_probabilities=over), one.z_mm)
    padded = Judge(DEFAULT, rule).decide(
        MemberOutputs(members, turned_probabilities=turned),
        z_mm,
        is_air=np.arange(len(z_mm)) >= len(one.z_mm),
    )
    assert padded.flipped_gain == pytest.approx(alone.flipped_gain) and alone.flipped_gain < -50
    mean, mean_over = (
        rule.member_weights(3) @ members.swapaxes(0, 1)
        for members in (outputs.member_probabilities, over)
    )
    weighed = decide_volume(mean, one.z_mm, DEFAULT, rule, mean_over)
    assert alone.flipped_gain == pytest.approx(weighed.flipped_gain, rel=1e-4)


def test_black_margins_teach_nothing_of_how_sure_the_rest_is(bodies: Bodies) -> None:
    """Padded with black that the networks call pelvis, validation volumes calibrate confidences as they do
    without."""
    rng, k = np.random.default_rng(5), len(DEFAULT.classes)
    plain, padded = [], []
    for seed in range(24):
        one = bodies(seed, noise=3.0, empty_mm=0.0)
        bare = shown(one, seed)
        below, above = rng.integers(0, 9, 2)
        pelvis = np.full((3, 1, k), 0.02, dtype=np.float32)
        pelvis[..., DEFAULT.chain.index("pelvis")] = 1 - 0.02 * (k - 1)
        members = np.concatenate(
            [
                pelvis.repeat(below, axis=1),
                bare.outputs.member_probabilities,
                pelvis.repeat(above, axis=1),
            ],
            axis=1,
        )
        z_mm = one.z_mm[0] + 5.0 * np.arange(-below, len(one.z_mm) + above)
        truth = np.pad(bare.truth, ((below, above), (0, 0)))
        truth[:, -1] |= ~truth.any(axis=1)
        plain.append(bare)
        stack = stack_of(np.pad(bare.stack.pixels, ((below, above), (0, 0), (0, 0))), z_mm)
        padded.append(LabelledVolume(bare.subject, MemberOutputs(members), stack, truth))
    rules = [
        fit_thresholds(Judge(DEFAULT, Rule()), volumes, stated_error=0.2, at_risk=0.1, seed=1)[
            0
        ].rule
        for volumes in (plain, padded)
    ]
    np.testing.assert_allclose(rules[1].beta, rules[0].beta, atol=1e-6)
    np.testing.assert_allclose(rules[1].line, rules[0].line, atol=1e-6)


def test_margins_begin_behind_the_last_slice_with_anything_in_it() -> None:
    """A black slice between others is the decision's; where all are black, all are; a pixel of 10 of 255 is
    something."""
    pixels = np.zeros((6, 4, 4), dtype=np.uint8)
    pixels[[1, 3, 4], 2, 2] = (10, 200, 11)
    assert find_signal_rows(find_air(pixels)) == slice(1, 5) and find_signal_rows(
        find_air(pixels[:1])
    ) == slice(0, 1)
    assert find_air(pixels).tolist() == [True, False, True, False, False, True]
