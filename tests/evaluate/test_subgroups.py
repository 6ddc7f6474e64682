"""Which columns divide volumes, and where continuous ones are cut."""

from dataclasses import replace

import numpy as np
import pytest

from fovnet.evaluate.subgroups import find_groupings


def cases(planted, **columns):
    """A volume for each value of the columns."""
    names, rows = list(columns), zip(*columns.values(), strict=True)
    return [
        planted.case(
            ["head"], volume_id=f"v{number:03d}", attributes=dict(zip(names, row, strict=True))
        )
        for number, row in enumerate(rows)
    ]


def values_of(found, name):
    return list(dict.fromkeys(dict(found)[name].values())) if name in dict(found) else None


def test_ages_are_cut_at_customary_years_and_stand_in_order(planted):
    ages = [str(age) for age in (7, 17, 18, 33, 40, 59, 60, 79, 80, 93)]
    found = find_groupings(cases(planted, age=ages))
    assert values_of(found, "age") == [
        "below 18",
        "18 to below 40",
        "40 to below 60",
        "60 to below 80",
        "80 or more",
    ]
    assert [dict(found)["age"][f"v{number:03d}"] for number in (1, 2)] == [
        "below 18",
        "18 to below 40",
    ]


@pytest.mark.parametrize("name", ["slice_spacing_mm", "echo_time_ms", "ratio"])
def test_measures_are_cut_at_rounded_quartiles_into_nearly_equal_parts(planted, name):
    spacings = np.random.default_rng(0).uniform(1, 10, 80)
    found = dict(find_groupings(cases(planted, **{name: [f"{value:.3f}" for value in spacings]})))[
        name
    ]
    counts = np.unique(list(found.values()), return_counts=True)[1]
    assert len(counts) == 4 and counts.min() >= 15 and counts.sum() == 80


def test_a_few_numbers_are_levels_and_whole_numbers_of_unknown_meaning_are_names(planted):
    fields, series = ["1.5", "3", "3", "7"] * 8, [str(number) for number in range(32)]
    found = find_groupings(cases(planted, field_strength=fields, series=series))
    assert (
        values_of(found, "field_strength") == ["1.5", "3", "7"]
        and values_of(found, "series") is None
    )


@pytest.mark.parametrize(("levels", "groups"), [(6, 6), (7, 4)])
def test_six_different_numbers_are_levels_and_seven_are_cut_into_quarters(planted, levels, groups):
    found = find_groupings(
        cases(
            planted,
            echo_time_ms=[f"{10.5 + 10 * (number % levels)}" for number in range(4 * levels)],
        )
    )
    assert len(values_of(found, "echo_time_ms")) == groups


def test_a_number_of_its_own_for_every_volume_makes_no_group_for_every_volume(planted):
    spacings = ["3", "3.54", "4", "5", "5.5", "6"]
    found = find_groupings(cases(planted, slice_spacing_mm=spacings, site=list("abcdef")))
    assert len(values_of(found, "slice_spacing_mm")) == 4 and values_of(found, "site") is None


def test_one_value_many_names_or_a_gap_do_not_divide(planted):
    found = find_groupings(
        cases(
            planted,
            plane=["axial"] * 30,
            name=[f"n{number}" for number in range(30)],
            site=["a", "b", ""] * 10,
        )
    )
    assert [name for name, _ in found] == ["collection", "site"]
    assert len(dict(found)["site"]) == 20


def test_volumes_of_no_collection_make_no_group_without_a_name(planted):
    """As `fovnet examine` has them: one truth, no collections."""
    nameless = [replace(case, collection="") for case in cases(planted, site=["a", "b"] * 3)]
    assert [name for name, _ in find_groupings(nameless)] == ["site"]


def test_a_measure_that_is_no_number_everywhere_is_a_word(planted):
    assert values_of(find_groupings(cases(planted, age=["44", "55", "very old"] * 3)), "age") == [
        "44",
        "55",
        "very old",
    ]


@pytest.mark.parametrize("word", ["n/a", "", "Unknown", "NaN"])
def test_an_age_that_is_not_known_makes_no_words_of_the_others(planted, word):
    ages = [str(age) for age in range(20, 80, 2)]
    whole, lacking = (
        dict(find_groupings(cases(planted, age=known)))["age"]
        for known in (ages, [word, *ages[1:]])
    )
    assert lacking == {volume: value for volume, value in whole.items() if volume != "v000"}
