"""The arms of an ablation, against what is worked out by hand on bodies whose truth is known."""

import json
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from fovnet.decision.chain.spans import class_of_labels, decide_volume
from fovnet.decision.member_weights import weigh_by_way
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.evaluate.ablation import ablation_rows, measure_ablation, write_ablation
from fovnet.evaluate.arms import (
    LADDERS,
    LEAST_LABEL_PROBABILITY,
    Networks,
    decode_at_intersections,
    decode_by_threshold,
    decode_exactly,
    decode_without_heights,
    decode_without_none,
    mix_by_loss,
    mix_greedily,
    take_best_member,
)
from fovnet.maths.ladder import Height
from fovnet.records import read_json, read_tsv
from fovnet.regions import DEFAULT

RULE = Rule(temperature=3.0, sigma_mm=8.0, side_threshold=0.6)


@pytest.fixture(scope="module")
def study(packed):
    """Twelve people: four to tune on, eight to test; three members, the first the best, and a start that
    hardly knows anything."""
    rng = np.random.default_rng(0)
    labels = [packed.truth_of(rng.integers(4, 9, 5)) for _ in range(13)]
    pack = packed.pack_of(labels, ["train", *["validation"] * 4, *["test"] * 8])
    rows = np.arange(len(labels[0]), len(pack.truth))
    members = np.stack(
        [packed.probabilities_of(pack.truth[rows], rng, noise) for noise in (2.5, 3.0, 3.5)]
    ).astype(np.float32)
    start = packed.probabilities_of(pack.truth[rows], rng, 6.0)
    shipped = members.mean(axis=0, dtype=np.float64)
    validation = np.isin(rows, pack.rows_in_split("validation"))
    networks = Networks(
        shipped,
        members,
        np.array([0.3, 0.4, 0.5]),
        start,
        validation,
        pack.truth[rows],
        pack.volume_of_slice[rows],
    )
    return pack, networks, rows


@pytest.fixture(scope="module")
def found(study):
    return measure_ablation(*study, DEFAULT, RULE, bootstrap=200, seed=1)


def value(found, ladder, arm, name):
    step = next(step for step in found.steps if (step.ladder, step.arm) == (ladder, arm))
    return next(one for one in step.measures if one.name == name)


def test_every_arm_of_every_ladder_is_there(found):
    assert [(step.ladder, step.arm) for step in found.steps] == [
        (name, arm.name) for name, arms in LADDERS.items() for arm in arms
    ]
    assert found.omitted_arms == ()


def test_raw_is_the_most_probable_class_of_each_slice(found, study):
    pack, networks, rows = study
    test = np.isin(rows, pack.rows_in_split("test"))
    wrong = (networks.ensemble_probabilities.argmax(axis=1) != networks.truth.argmax(axis=1))[test]
    one = value(found, "decision", "raw", "slice_error")
    assert (one.numerator, one.denominator) == (wrong.sum(), test.sum())


def test_confusions_of_networks_alone_count_every_test_slice_once(found, study):
    """Off the diagonal: the slices whose most probable class is wrong, of each network."""
    pack, networks, rows = study
    is_test = np.isin(rows, pack.rows_in_split("test"))
    truth = networks.truth.argmax(axis=1)[is_test]
    probabilities_by_name = {
        "starting network": networks.start_probabilities,
        "best network": networks.member_probabilities[0],
        "ensemble": networks.ensemble_probabilities,
    }
    assert [confusion.name for confusion in found.confusions] == list(probabilities_by_name)
    for confusion in found.confusions:
        counts = np.array(confusion.counts)
        predicted = probabilities_by_name[confusion.name].argmax(axis=1)[is_test]
        assert counts.sum(axis=1).tolist() == np.bincount(truth, minlength=7).tolist()
        assert counts.sum(axis=0).tolist() == np.bincount(predicted, minlength=7).tolist()
        assert counts.sum() - np.trace(counts) == (predicted != truth).sum()


def test_the_last_arm_of_the_decision_is_the_decision(found, study):
    pack, networks, rows = study
    temperature = found.steps[0].temperature
    wrong = 0
    for record in pack.records:
        if record.split == "test":
            at = np.isin(rows, np.arange(record.first_row, record.first_row + record.slice_count))
            z_mm = pack.z_mm[rows[at]]
            decided = decide_volume(
                networks.ensemble_probabilities[at],
                z_mm,
                DEFAULT,
                replace(RULE, temperature=temperature),
            ).decided_labels
            wrong += int((class_of_labels(decided, 5) != networks.truth[at].argmax(axis=1)).sum())
    assert value(found, "decision", "exact + none", "slice_error").numerator == wrong


def test_the_order_of_the_body_is_worth_something_and_so_is_the_best_network(found):
    errors = {
        (step.ladder, step.arm): value(found, step.ladder, step.arm, "slice_error").value
        for step in found.steps
    }
    assert (
        errors["decision", "exact + none"] < errors["decision", "raw"]
        and errors["decision", "smoothed"] < errors["decision", "raw"]
    )
    assert errors["network", "ensemble"] < errors["network", "starting network"]
    gain = next(one for one in found.steps[-1].since_first if one.measure == "slice_error")
    assert gain.high < 0


def test_gains_are_differences_to_the_arm_before_and_to_the_first(found):
    steps = [step for step in found.steps if step.ladder == "decision"]
    for before, step in pairwise(steps):
        assert step.against == before.arm
        for changes, other in ((step.gains, before), (step.since_first, steps[0])):
            assert len(changes) >= 5
            for change in changes:
                here, there = (
                    next(one.value for one in each.measures if one.name == change.measure)
                    for each in (step, other)
                )
                assert change.difference == pytest.approx(here - there)


def test_the_gains_in_the_table_are_differences_of_its_own_values(found):
    rows = {(row["ladder"], row["arm"], row["measure"]): row for row in ablation_rows(found)}
    first = {ladder: arms[0].name for ladder, arms in LADDERS.items()}
    compared = 0
    for row in rows.values():
        for name, other in (("gain", row["against"]), ("since_first", first[row["ladder"]])):
            if row.get(name) is not None:
                compared += 1
                assert row[name] == pytest.approx(
                    row["value"] - rows[row["ladder"], other, row["measure"]]["value"]
                )
                assert (
                    row[f"{name}_low"] is None
                    or row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
                )
    assert compared >= 2 * 5 * (len(rows) // len(found.steps))


def test_the_temperature_of_a_mix_is_fitted_on_validation_slices_alone(found, study):
    pack, networks, rows = study
    spoiled = np.where(networks.is_validation[:, None], networks.ensemble_probabilities, 1 / 7)
    again = measure_ablation(
        pack,
        Networks(spoiled, *list(vars(networks).values())[1:]),
        rows,
        DEFAULT,
        RULE,
        bootstrap=100,
        seed=1,
    )
    assert again.steps[0].temperature == found.steps[0].temperature


def test_a_start_that_was_not_trained_is_left_out_with_the_reason(study):
    pack, networks, rows = study
    without_start = vars(networks) | {"start_probabilities": None}
    found = measure_ablation(
        pack, Networks(**without_start), rows, DEFAULT, RULE, bootstrap=100, seed=1
    )
    ((ladder, arm, why),) = found.omitted_arms
    assert (ladder, arm) == ("network", "starting network") and "did not complete" in why
    assert next(step for step in found.steps if step.arm == "best found").against == ""


def test_slices_that_were_not_scored_stop_it(study):
    pack, networks, rows = study
    fewer = Networks(
        networks.ensemble_probabilities[:-3],
        networks.member_probabilities[:, :-3],
        networks.scores,
        None,
        networks.is_validation[:-3],
        networks.truth[:-3],
        networks.subject_index[:-3],
    )
    with pytest.raises(ModelError, match="probabilities-stale"):
        measure_ablation(pack, fewer, rows[:-3], DEFAULT, RULE, bootstrap=100, seed=1)


def test_same_seed_same_tables(found, study, tmp_path):
    for folder, one in (
        ("a", found),
        ("b", measure_ablation(*study, DEFAULT, RULE, bootstrap=200, seed=1)),
    ):
        write_ablation(tmp_path / folder, one, made_from={}, settings={"bootstrap": 200})
    for name in ("ablation.json", "ablation.tsv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    rows, facts = (
        read_tsv(tmp_path / "a" / "ablation.tsv"),
        read_json(tmp_path / "a" / "ablation.json"),
    )
    assert len(rows) == sum(len(step["measures"]) for step in facts["steps"])
    assert "NaN" not in json.dumps(facts)


def test_the_best_member_is_the_one_with_the_lowest_validation_loss(study):
    _, networks, _ = study
    for scores in permutations((0.3, 0.4, 0.5)):
        scored = replace(networks, scores=np.array(scores))
        np.testing.assert_array_equal(
            take_best_member(scored), networks.member_probabilities[scores.index(0.3)]
        )


@pytest.mark.parametrize(("arm", "way"), [(mix_by_loss, "by-loss"), (mix_greedily, "greedy")])
def test_members_are_weighed_on_the_validation_slices_as_an_ensemble_would(study, arm, way):
    """Half of the slices are of a spine beside a chain region: a slice of two classes counts half of each,
    and no more than another."""
    _, networks, _ = study
    here, truth = networks.is_validation, networks.truth.copy()
    truth[::2, DEFAULT.classes.index("spine")] = ~truth[::2, -1]
    weights = weigh_by_way(
        networks.member_probabilities[:, here], truth[here], networks.subject_index[here], way
    ).weights
    np.testing.assert_allclose(
        arm(replace(networks, truth=truth)),
        np.tensordot(weights, networks.member_probabilities, axes=1),
        rtol=1e-6,
    )


class TestReadings:
    def test_below_the_threshold_there_is_none(self, packed):
        p = np.full((3, 7), (1 - 0.6) / 6)
        p[:, 2] = 0.6
        p[1] = np.where(np.arange(7) == 2, LEAST_LABEL_PROBABILITY + 0.01, (0.29) / 6)
        shown = decode_by_threshold(
            p, np.arange(3.0), np.arange(4.0) - 0.5, DEFAULT, Rule(sigma_mm=0.0)
        )
        assert shown.argmax(axis=1).tolist() == [6, 2, 6] and (shown.sum(axis=1) == 1).all()

    def test_without_none_every_slice_shows_a_region(self, packed):
        truth = packed.truth_of((4, 4, 4, 4, 4), air=10)
        p = packed.probabilities_of(truth, np.random.default_rng(0), 0.5)
        shown = decode_without_none(
            p, np.arange(len(p)) * 8.0, np.arange(len(p) + 1) * 8.0 - 4.0, DEFAULT, RULE
        )
        assert not shown[:, -1].any() and shown[:, :-1].any(axis=1).all()

    def test_only_the_arms_that_know_heights_are_moved_by_them(self, packed):
        """A chest of 160 mm, where the rule expects 250 of a chest, give or take 5."""
        truth = packed.truth_of((20, 20, 20, 20, 20))
        p, z_mm = (
            packed.probabilities_of(truth, np.random.default_rng(0), 2.0),
            np.arange(len(truth)) * 8.0,
        )
        edges_mm = np.append(z_mm - 4.0, z_mm[-1] + 4.0)
        expecting = replace(
            RULE,
            heights=tuple(
                Height(250.0, 5.0) if name == "chest" else Height(160.0, 30.0)
                for name in DEFAULT.chain
            ),
        )
        moved = {
            arm: (
                arm(p, z_mm, edges_mm, DEFAULT, expecting) != arm(p, z_mm, edges_mm, DEFAULT, RULE)
            ).any()
            for arm in (
                decode_exactly,
                decode_without_none,
                decode_without_heights,
                decode_at_intersections,
            )
        }
        assert moved == {
            decode_exactly: True,
            decode_without_none: True,
            decode_without_heights: False,
            decode_at_intersections: False,
        }
