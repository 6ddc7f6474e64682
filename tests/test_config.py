"""Settings: what is wrong is found at the door, all of it at once, with what to write instead."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import asdict, astuple
from pathlib import Path

import hypothesis
import pytest
import yaml
from hypothesis.strategies import dictionaries, floats, integers, lists, none, recursive, text
from snakemake.utils import update_config

from fovnet.config.faults import show_value
from fovnet.config.files import load_settings, parse, write_settings
from fovnet.config.models import Phantom, Settings
from fovnet.config.regions import vocabulary
from fovnet.config.search import KEYS_ADDED_LATER, Mads, Ranking
from fovnet.config.yaml_text import find_doubled_keys
from fovnet.errors import ConfigError, SearchError
from fovnet.net.family.architecture import INPUTS
from fovnet.search.clock import LEAD
from fovnet.search.look.view import POLLING, RANKING, RECOMMENDED
from fovnet.search.methods import METHODS
from fovnet.search.space import BASELINE_CONFIGURATION, Axis, paper_space
from fovnet.volume.collection.table_rows import find_region

CONFIGS = Path(__file__).parents[1] / "configs"


def faults(**raw: object) -> str:
    with pytest.raises(ConfigError) as caught:
        parse({"phantom": {"subjects": 8}, **raw}, "mine.yaml")
    return caught.value.sentence


def test_a_key_that_stands_there_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    """YAML itself keeps the last one, without a word."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        "seed: 1\nsearch:\n  trials: 5\n  method: random\n  trials: 500\nphantom: {subjects: 8}\nseed: 2\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    assert caught.value.code == "config-doubled"
    faulty_lines = [line.strip() for line in caught.value.sentence.splitlines()[1:]]
    assert faulty_lines == [
        "line 5: search.trials is in line 3 already",
        "line 7: seed is in line 1 already",
    ]


def test_the_same_key_in_two_sections_is_no_double(tmp_path: Path) -> None:
    assert (
        find_doubled_keys("a: {x: 1, y: &same [1, 2]}\nb: {x: 2, y: *same}\nc: [{x: 1}, {x: 2}]\n")
        == []
    )
    assert find_doubled_keys("a: [{x: 1,\n x: 2}]") == ["line 2: a.0.x is in line 1 already"]
    assert find_doubled_keys("regions: [{name: calf, rung: 0, name: thigh}]") == [
        "line 1: regions.0.name is in line 1 already"
    ]


@pytest.mark.parametrize(
    "name", ["default", "demo", "smoke", "compact", "compact-gpu", "table-600"]
)
def test_the_configurations_that_come_with_it_can_be_meant(name: str) -> None:
    assert load_settings(CONFIGS / f"{name}.yaml").results == f"results/{name}"


def test_each_run_of_the_packages_networks_begins_with_those_of_the_one_before() -> None:
    shared = yaml.safe_load((CONFIGS / "shipped" / "shared.yaml").read_text())
    runs = [
        yaml.safe_load((CONFIGS / "shipped" / f"{number}.yaml").read_text())
        for number in range(1, 13)
    ]
    whole = []
    for run in runs:
        # as Snakemake does, in place
        update_config(merged := deepcopy(shared), run)
        whole.append(parse(merged, "shipped"))
    assert [one.training.begin for one in whole[1:]] == [
        f"{one.results}/ensemble" for one in whole[:-1]
    ]
    assert whole[0].training.begin is None and whole[-1].results == "results/shipped"
    assert all(
        one.training.sampling == "volumes" and one.ensemble.weights == "equal" for one in whole
    )


def test_inputs_are_some_of_those_known_each_once_and_their_order_is_no_choice() -> None:
    for given, meant in (
        (["millimetres", "slice", "slice"], ["slice", "millimetres"]),
        (list(INPUTS)[::-1], list(INPUTS)),
    ):
        parsed = parse({"phantom": {"subjects": 8}, "training": {"inputs": given}}, "mine.yaml")
        assert parsed.training.inputs == meant
    assert "training.inputs" in faults(training={"inputs": []})
    assert "training.inputs.0: 'colour'" in faults(training={"inputs": ["colour"]})


def test_default_yaml_says_every_key_with_its_true_default() -> None:
    assert load_settings(CONFIGS / "default.yaml") == Settings(collections={"mine": "data/mine"})


def test_the_default_start_is_the_papers_baseline() -> None:
    assert Settings(collections={"a": "b"}).search.start == BASELINE_CONFIGURATION
    assert paper_space().row_of(BASELINE_CONFIGURATION) >= 0


def test_a_misspelt_key_is_answered_with_the_nearest_one() -> None:
    assert "search.trails: unknown key; did you mean 'trials'?" in faults(search={"trails": 3})
    assert "serach: unknown key; did you mean 'search'?" in faults(serach={})
    assert "training.augmentation.rotation: unknown key; did you mean 'rotation_deg'?" in faults(
        training={"augmentation": {"rotation": 3}}
    )
    assert (
        "training.early_stopping.plateau.patients: unknown key; did you mean 'patience'?"
        in faults(training={"early_stopping": {"plateau": {"patients": 5}}})
    )


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            {"collections": "/scans"},
            "collections: '/scans': expected a name with a value, such as NAME: /scans",
        ),
        (
            {"prepare": {"split": [0.8, 0.2]}},
            "prepare.split.2: [0.8, 0.2]: value number 3 is missing",
        ),
        (
            {"prepare": {"split": [0.5, 0.25, 0.250002]}},
            "prepare.split: the fractions add up to 1.000002; they must add up to 1",
        ),
        ({"results": ""}, "results: '': string should have at least 1 character"),
        ({"prepare": 3}, "prepare: 3: expected a name with a value, such as NAME: 3"),
    ],
)
def test_what_is_of_another_form_is_told_how_to_be_written(
    raw: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as fault:
        parse({"phantom": {"subjects": 8}, **raw}, "c.yaml")
    assert message in fault.value.sentence


def test_all_faults_are_said_at_once() -> None:
    message = faults(search={"trials": 0, "method": "gp_ei"}, seed="x")
    assert all(
        where in message for where in ("search.trials: 0", "search.method: 'gp_ei'", "seed: 'x'")
    )


def test_nothing_to_learn_from_is_no_configuration() -> None:
    with pytest.raises(ConfigError, match="nothing to learn from"):
        parse({}, "empty.yaml")


def test_a_folder_a_volume_and_nothing_are_no_configuration_and_said_to_be_what_they_are(
    tmp_path: Path,
) -> None:
    (tmp_path / "volume.nii.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (tmp_path / "empty.yaml").touch()
    for content, kind in (("a text", "text"), ("- 1", "list"), ("1.5", "number")):
        (tmp_path / f"{kind}.yaml").write_text(content)
    for name, seen in (
        (".", "Is a directory"),
        ("volume.nii.gz", "is not text"),
        ("empty.yaml", "is empty"),
        ("text.yaml", "holds a text; it must have 'key: value' lines"),
        ("list.yaml", "holds a list;"),
        ("number.yaml", "holds a number;"),
    ):
        with pytest.raises(ConfigError, match="is an example to start from") as caught:
            load_settings(tmp_path / name)
        assert caught.value.code == "config-unreadable" and seen in caught.value.sentence
    with pytest.raises(
        ConfigError, match="give default or nine, or a YAML file with a list 'regions'"
    ):
        vocabulary(str(tmp_path / "none.yaml"))
    with pytest.raises(ConfigError, match="null byte"):
        vocabulary("a\0b")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[1, 2]", "config-unreadable"),
        ("a: [", "config-unreadable"),
        (None, "config-missing"),
        ("report: {title: 2024-02-31}", "config-unreadable"),
        (f"seed: {'9' * 5000}", "config-unreadable"),
        ("search: " + "{a: " * 2000 + "1" + "}" * 2000, "config-unreadable"),
        ("phantom: {subjects: 100000000000000000000}", "config-invalid"),
    ],
    ids=["list", "open", "none", "date", "digits", "deep", "many"],
)
def test_what_is_no_configuration_file_is_refused_by_name(
    tmp_path: Path, text: str | None, code: str
) -> None:
    path = tmp_path / "c.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert caught.value.code == code
    assert str(path) in caught.value.sentence


def test_written_settings_read_back_the_same_and_are_written_once(tmp_path: Path) -> None:
    settings = load_settings(CONFIGS / "smoke.yaml")
    path = write_settings(tmp_path / "config.yaml", settings)
    before = path.stat().st_mtime_ns
    write_settings(path, settings)
    assert load_settings(path) == settings
    assert path.stat().st_mtime_ns == before


def test_regions_of_ones_own_are_read_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "regions.yaml"
    legs = "- {name: calf, rung: 0, level: distal}\n- {name: thigh, rung: 1, colour: '#112233'}\n"
    path.write_text(f"regions:\n{legs}- {{name: hand, rung: null}}\n")
    mine = vocabulary(str(path))
    assert mine.classes == ("calf", "thigh", "hand", "none")
    assert mine.colour("thigh") == "#112233"
    assert mine.levels == ("distal", "")


def test_regions_without_a_colour_have_one_that_no_other_has(tmp_path: Path) -> None:
    path = tmp_path / "regions.yaml"
    rest = "".join(f"- {{name: r{n}, rung: {n}}}\n" for n in range(1, 30))
    path.write_text(f"regions:\n- {{name: r0, rung: 0, colour: '#0072B2'}}\n{rest}")
    mine = vocabulary(str(path))
    colours = [mine.colour(name).lower() for name in mine.classes]
    assert len(set(colours)) == 31 and all(
        re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours
    )
    assert vocabulary(str(path)) == mine


def test_names_are_read_composed_and_nothing_but_regions_can_be_told(tmp_path: Path) -> None:
    """A Mac writes "u" and two dots where a spreadsheet writes one letter."""
    path = tmp_path / "regions.yaml"
    path.write_text("regions:\n- {name: ' Fu\u0308sse ', rung: 0}\n", encoding="utf-8")
    mine = vocabulary(str(path))
    assert mine.classes == ("F\u00fcsse", "none")
    assert find_region("F\u00dcSSE", mine) == find_region("fu\u0308sse", mine) == "F\u00fcsse"
    path.write_text("regions:\n- {name: a, rung: 0}\ntransitions: {a: [b]}\n")
    with pytest.raises(ConfigError, match="transitions: unknown key"):
        vocabulary(str(path))


@pytest.mark.parametrize(
    "entry",
    [
        "{name: a, rung: 1}",
        "{name: none, rung: 0}",
        "{rung: 0}",
        "{name: a, rung: 0, color: x}",
        "{name: a, rung: null}",
        "{name: a}",
        "{name: a, rung: top}",
        "{name: 12, rung: 0}",
        "{name: yes, rung: 0}",
        "{name: '', rung: 0}",
        "{name: a, rung: 0, colour: red}",
        "{name: a, rung: 0, colour: '#zz'}",
        "{name: a, rung: 0, synonyms: 3}",
        "{name: a, rung: 0, body_part: pelvis}",
        "{name: a, rung: 0, body_part: MUCHLONGERTHANDICOM}",
        "{name: a, rung: 0, sct: T-71000}",
        f"{{name: a, rung: 0, meaning: {'m' * 65}}}",
        f"{{name: {'m' * 65}, rung: 0}}",
        "{name: ' ', rung: 0}",
        "{name: '-', rung: 0}",
        '{name: "lo\\twer", rung: 0}',
        '{name: "lo\\nwer", rung: 0}',
        "{name: 'a\\b', rung: 0}",
        "{name: a, rung: 0, meaning: 'a\\b'}",
    ],
)
def test_regions_that_are_no_ladder_are_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "regions.yaml"
    path.write_text(f"regions:\n- {entry}\n")
    with pytest.raises(ConfigError, match="regions-invalid"):
        vocabulary(str(path))


def test_a_code_of_digits_alone_is_one_in_quotes_or_not(tmp_path: Path) -> None:
    path = tmp_path / "regions.yaml"
    path.write_text(
        "regions:\n- {name: calf, rung: 0, sct: 30021000, body_part: CALF, synonyms: [lower leg]}\n"
    )
    (calf,) = vocabulary(str(path)).regions
    assert (calf.sct, calf.synonyms) == ("30021000", ("LOWER LEG",))


def test_a_number_without_a_point_is_a_number():
    """YAML 1.1 reads 1e-4 as a word."""
    raw = {"space": {"learning_rate": ["1e-4", "1e-3"]}, "start": {"learning_rate": "1e-3"}}
    search = parse({"phantom": {"subjects": 8}, "search": raw}, "my.yaml").search
    assert search.space == {"learning_rate": [1e-4, 1e-3]} and search.start == {
        "learning_rate": 1e-3
    }


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("pepar", "give paper"),
        ({}, "give paper"),
        ({"blocks": 4}, "blocks: 4; give a list of levels, or one of {ordinal: ...}"),
        ({"blocks": {"ordnal": [4]}}, "one of {ordinal: ...}"),
        ({"blocks": []}, "at least 1 item"),
        (
            {"rate": {"log": {"low": -1, "high": 1, "levels": 5}}},
            "rate.low: -1: input should be greater than 0",
        ),
        ({"rate": {"log": {"low": 1, "high": 10}}}, "rate.levels"),
        ({"a": [], "b": 7}, "b: 7; give"),
        (
            {"rate": {"log": {"low": 1e-3, "high": 1.001e-3, "levels": 50}}},
            "rate: levels 50 from 0.001 to 0.001001 are only 2",
        ),
        (
            {"rate": {"log": {"low": 0.1, "high": 1e-3, "levels": 5}}},
            "rate: from low 0.1 to high 0.001; low must be smaller: swap",
        ),
        ({"rate": {"log": {"low": 1, "high": 9, "levels": 5, "base": 2}}}, "rate.base: 2"),
    ],
)
def test_a_faulty_space_is_described_axis_by_axis(space, message):
    with pytest.raises(ConfigError) as refused:
        parse({"phantom": {"subjects": 8}, "search": {"space": space}}, "my.yaml")
    assert message in str(refused.value)


@hypothesis.given(low=floats(1e-6, 1e3), ratio=floats(1.0001, 1.2), levels=integers(2, 200))
def test_a_logarithmic_axis_is_refused_exactly_where_no_search_could_have_it(
    low: float, ratio: float, levels: int
) -> None:
    axis = {"log": {"low": low, "high": low * ratio, "levels": levels}}
    try:
        Axis.of("rate", axis)
    except SearchError:
        assert "give at most" in faults(search={"space": {"rate": axis}})
    else:
        parse({"phantom": {"subjects": 8}, "search": {"space": {"rate": axis}}}, "my.yaml")


def test_the_speed_of_the_device_is_numbers_or_to_be_measured() -> None:
    assert (
        parse({"phantom": {"subjects": 8}, "search": {"speed": "measure"}}, "my.yaml").search.speed
        == "measure"
    )
    assert "search.speed: 'mesure': input should be 'measure'" in faults(search={"speed": "mesure"})
    assert "search.speed.gflop_per_secnd: unknown key; did you mean 'gflop_per_second'?" in faults(
        search={"speed": {"gflop_per_secnd": 3}}
    )
    assert "search.speed.gigabyte_per_second: -1: input should be greater than 0" in faults(
        search={"speed": {"gigabyte_per_second": -1}}
    )


def test_what_is_recommended_is_what_is_configured_by_default() -> None:
    search = Settings(phantom=Phantom(subjects=8)).search
    assert search.lead == LEAD
    configured = (
        search.targets,
        search.kernel,
        search.hyperparameters,
        search.per_second,
        search.choose,
        search.fidelity,
        search.target,
        search.width,
        search.models,
    )
    assert configured == astuple(RECOMMENDED)
    assert Mads().model_dump() == {
        key: value for key, value in asdict(POLLING).items() if key != "neighbours"
    }
    assert Ranking().model_dump() == RANKING.facts


@pytest.mark.parametrize(
    ("method", "later"),
    [
        ("tpe", {"candidates": "all"}),
        ("gp-ei", {"spend": "asha"}),
        ("gp-ei", {"choose": "drawn"}),
        ("gp-pi", {"target": 0.3}),
        ("gp-lcb", {"width": "schedule"}),
        ("hyperband", {"rung_minutes": 27.0}),
        ("gp-hyperband", {"eta": 4, "least_epochs": 2, "reuse": False, "fidelity": "axis"}),
        (
            "mads",
            {
                "neighbours": {"separable": {"to": "next", "reset": {"kernel": 3}}},
                "mads": Mads(order="none").model_dump(),
            },
        ),
        ("ranking", {"ranking": Ranking(loss="pair", hidden=[16, 8]).model_dump()}),
    ],
)
def test_a_key_that_came_later_leaves_what_was_found_before_as_it_was(
    method: str, later: dict[str, object]
) -> None:
    """What decides the trials of a search, and the whole configuration, are written as before there was the
    key; another value of it differs."""
    usual, other = (
        Settings(phantom=Phantom(subjects=8), search={"method": method, **given})
        for given in ({}, later)
    )
    assert not set(KEYS_ADDED_LATER) & {
        *usual.model_dump(mode="json")["search"],
        *usual.settings_of_trials[0],
    }
    assert (
        other.settings_of_trials[0] == usual.settings_of_trials[0] | later
        and "trials" not in other.settings_of_trials[0]
    )
    assert Settings(**other.model_dump()) == other and Settings(**usual.model_dump()) == usual


NEEDED = {"gp-rgpe": {"prior": "prior.safetensors"}}


@pytest.mark.parametrize("method", METHODS)
def test_a_method_spends_as_the_table_of_methods_says_unless_told_otherwise(method: str) -> None:
    for spend in (None, "full", "hyperband", "asha"):
        search = {"method": method, "spend": spend, **NEEDED.get(method, {})}
        settings = parse({"phantom": {"subjects": 8}, "search": search}, "mine.yaml")
        assert settings.search.way_to_spend == (spend or METHODS[method].spend)


@pytest.mark.parametrize(
    ("search", "training", "message"),
    [
        (
            {"spend": "asha"},
            {"early_stopping": {"envelope": {"milestones": [2], "margin": 0.2}}},
            "training.early_stopping.envelope: search.spend asha .*leave it out, or set search.spend to full",
        ),
        (
            {"method": "hyperband", "least_epochs": 31},
            {},
            "search.least_epochs: 31 is more than the 30 of training.epochs; set 1 to 30",
        ),
        (
            {"spend": "asha", "stop_below_regret": 0.1},
            {},
            "stop_below_regret: with spend asha .*leave it out, or set spend to full",
        ),
        (
            {"spend": "asha", "eta": 1},
            {},
            "eta: 1: one of eta trainings continues from a rung; set 2 or more",
        ),
        ({"spend": "asha", "least_epochs": 0}, {}, "search.least_epochs: 0: "),
        (
            {"eta": 4},
            {},
            "eta: for trainings that are compared before their end.*leave out, or set spend to asha",
        ),
        (
            {"rung_minutes": 27},
            {},
            "rung_minutes: for trainings that are compared before their end",
        ),
        ({"method": "tpe", "fidelity": "axis"}, {}, "fidelity: axis: method tpe has no model"),
        (
            {"method": "tpe", "spend": "asha", "targets": "raw"},
            {},
            "targets: for a Gaussian process, but method tpe uses none",
        ),
        (
            {"method": "hyperband", "targets": "raw"},
            {},
            "targets: for a Gaussian process, but method hyperband uses none",
        ),
        (
            {"method": "gp-ts", "choose": "drawn"},
            {},
            "choose: method gp-ts has no expected improvement",
        ),
        ({"spend": "asha", "reuse": False}, {}, "reuse: false: only hyperband closes brackets"),
        (
            {"spend": "ahsa"},
            {},
            "search.spend: 'ahsa': .*'full', 'hyperband', 'asha' or 'asha-or-full'",
        ),
    ],
)
def test_what_does_not_go_with_the_spending_is_refused_with_what_to_set(
    search: dict[str, object], training: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse({"phantom": {"subjects": 8}, "search": search, "training": training}, "mine.yaml")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_configured_beside_the_usual_modelling(method: str) -> None:
    usual = {
        "targets": "half-ranked",
        "kernel": "matern52",
        "hyperparameters": "map",
        "per_second": False,
        "stop_below_regret": None,
    }
    search = {"method": method, **usual, **NEEDED.get(method, {})}
    assert (
        parse({"phantom": {"subjects": 8}, "search": search}, "mine.yaml").search.method == method
    )


@pytest.mark.parametrize(
    ("training", "ensemble", "message"),
    [
        ({"augmentation": {"alone": 0.2}}, {}, "have no input beside the slice to leave out"),
        ({"inputs": ["slice", "millimetres"]}, {"alone": 2}, "never trained on slices alone"),
        (
            {"inputs": ["slice", "millimetres"], "augmentation": {"alone": 0.2}},
            {"members": 3, "alone": 3},
            "set at most 2",
        ),
    ],
)
def test_slices_are_shown_alone_only_where_there_is_more_to_show_and_never_to_all(
    training: dict[str, object], ensemble: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse({"phantom": {"subjects": 8}, "training": training, "ensemble": ensemble}, "mine.yaml")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"method": "random", "per_second": True}, "per_second: random"),
        ({"method": "gp-ts", "per_second": True}, "per_second: gp-ts"),
        ({"method": "random", "stop_below_regret": 0.1}, "method random has no model"),
        ({"targets": "ranked", "stop_below_regret": 0.1}, "targets ranked give no distances"),
        (
            {"neighbours": {"separable": {}}, "mads": {}},
            "neighbours, mads: method gp-ei does not poll; .*set method to mads or a-mads",
        ),
        (
            {"method": "mads", "mads": {"every": 3, "categories": "fixed"}},
            "mads.every, mads.categories: for a global search.*to a-mads",
        ),
        (
            {"method": "a-dogs", "neighbours": {"separable": {}}, "mads": {"every": 3}},
            "mads.every, neighbours: for a poll, but a-dogs has none; .*set method to a-mads",
        ),
        (
            {"method": "mads", "neighbours": {"separable": {"too": "next"}}},
            "search.neighbours.separable.too: unknown key.*'to'",
        ),
        ({"method": "mads", "mads": {"extended": 2}}, "search.mads.extended: 2: "),
        ({"target": 0.3}, "target: gp-ei asks for no probability.*set method to gp-pi"),
        (
            {"method": "gp-pi", "targets": "ranked", "target": 0.3},
            "target: targets ranked give no distance.*set targets to half-ranked",
        ),
        ({"method": "gp-pi", "width": 3}, "width: gp-pi has no confidence bound.*to gp-lcb"),
        ({"method": "gp-lcb", "width": 0}, "search.width: 0: "),
        ({"method": "gp-lcb", "width": "wide"}, "search.width: 'wide': .*'schedule'"),
        (
            {"ranking": {}},
            "ranking: method gp-ei learns no order; leave it out, or set method to ranking",
        ),
        (
            {"method": "ranking", "ranking": {"rate_end": 0.001}},
            "rate_end: 0.001 is more than a 40th of rate 0.02.*set 0.0005 or less",
        ),
        (
            {"method": "ranking", "ranking": {"loss": "pair", "weight": "one"}},
            "weight: loss pair does not weight places",
        ),
        ({"method": "ranking", "ranking": {"members": 0}}, "search.ranking.members: 0: "),
        (
            {"prior": "p.safetensors"},
            "prior: method gp-ei learns nothing from other searches; leave out, or set method to ranking",
        ),
        (
            {"learn_from": ["results/one"]},
            "learn_from: method gp-ei learns nothing from other searches",
        ),
        (
            {"method": "ranking", "prior": "p", "learn_from": ["results/one"]},
            "prior, learn_from: .*leave out one of them",
        ),
        (
            {"method": "ranking", "learn_from": ["./results/default/"]},
            "search.learn_from: results/default .*set another `results`",
        ),
        (
            {"method": "ensemble-ei", "targets": "raw", "stop_below_regret": 0.1},
            "search: stop_below_regret: for a Gaussian process",
        ),
        (
            {"method": "ensemble-ei", "targets": "raw", "kernel": "squared-exponential"},
            "search: kernel: for a Gaussian process",
        ),
        ({"method": "gp-rgpe"}, "method: gp-rgpe uses .*; set search.prior or search.learn_from"),
        (
            {"method": "gp-rgpe", "prior": "p", "stop_below_regret": 0.1},
            "method gp-rgpe gives no distances",
        ),
        (
            {"method": "gp-ei", "prior": "p"},
            "prior: method gp-ei learns nothing .*to ranking or gp-rgpe",
        ),
        (
            {"candidates": "all"},
            "candidates: method gp-ei compares no candidates; leave it out, or set method to tpe",
        ),
        *(
            (
                {"method": method, **given},
                rf"search: {', '.join(given)}: for a Gaussian process, but method {method} uses none; leave "
                r".* out, or "
                "set method to gp-ei",
            )
            for method in ("grid", "tpe", "mads", "a-mads", "a-dogs", "ranking")
            for given in (
                {"targets": "raw"},
                {"kernel": "squared-exponential"},
                {"hyperparameters": "sampled"},
                {"per_second": True},
                {"stop_below_regret": 0.1},
                {"targets": "ranked", "kernel": "squared-exponential"},
            )
        ),
    ],
)
def test_what_a_method_could_not_heed_is_refused(search: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse({"phantom": {"subjects": 8}, "search": search}, "mine.yaml")


def test_the_older_name_of_the_threshold_of_side_regions_is_read() -> None:
    """Not where both are given: one of them would be ignored."""
    older = {"protocol_threshold": [0.3]}
    phantom = {"subjects": 9}
    read = parse({"phantom": phantom, "decision": older}, "a")
    assert read.decision.side_threshold == [0.3]
    both = older | {"side_threshold": [0.4]}
    with pytest.raises(ConfigError, match="protocol_threshold: unknown key"):
        parse({"phantom": phantom, "decision": both}, "a")


@pytest.mark.parametrize(
    ("section", "given"),
    [
        ("decision", {"sigma_mm": [0.0, -3.0]}),
        ("decision", {"sigma_mm": [float("nan")]}),
        ("decision", {"sigma_mm": [float("inf")]}),
        ("decision", {"height_widths": [0.0]}),
        ("decision", {"side_threshold": [2.0]}),
        ("decision", {"side_threshold": [-1.0]}),
        ("evaluate", {"bootstrap": 1}),
        ("prepare", {"target_spacing_mm": float("inf")}),
    ],
)
def test_numbers_that_a_run_would_stumble_over_hours_later_are_refused(
    section: str, given: dict[str, object]
) -> None:
    with pytest.raises(ConfigError, match=rf"{section}\.{next(iter(given))}"):
        parse({"phantom": {"subjects": 8}, section: given}, "mine.yaml")


def bomb(kind: str, depth: int) -> str:
    """A kilobyte whose aliases stand for 9 to the power of `depth` entries, below a key of the
    configuration."""
    lines = {
        "list": "- &{} [{}]",
        "mapping": "- &{} {{{}}}",
        "merged": "- &{} {{<<: [{}]}}",
        "text": "- &{} [{}]",
    }[kind]
    first = {
        "list": "- &a0 [x, y]",
        "mapping": "- &a0 {x: 1}",
        "merged": "- &a0 {x: 1}",
        "text": f"- &a0 '{500 * 'x'}'",
    }[kind]
    entry = "k{}: *a{}" if kind == "mapping" else "*a{1}"
    made = [
        lines.format(f"a{at}", ", ".join(entry.format(key, at - 1) for key in range(9)))
        for at in range(1, depth + 1)
    ]
    return "phantom:\n  subjects: 8\n  without:\n" + "".join(
        f"  {line}\n" for line in (first, *made)
    )


@pytest.mark.parametrize("kind", ["list", "mapping", "merged", "text"])
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 7, 9, 12])
def test_no_message_about_a_kilobyte_of_aliases_is_longer_than_a_page(
    tmp_path: Path, kind: str, depth: int
) -> None:
    """12 levels stand for 282 billion entries; they are counted, and never made."""
    file = tmp_path / "mine.yaml"
    file.write_text(bomb(kind, depth), encoding="utf-8")
    for read in (lambda: load_settings(file), lambda: vocabulary(str(file))):
        with pytest.raises(ConfigError) as caught:
            read()
        assert len(str(caught.value)) < 4000
        if depth >= 7:
            assert "its aliases (*name) expand to" in caught.value.sentence


def test_of_several_unknown_keys_of_regions_the_first_is_named(tmp_path: Path) -> None:
    """A set of keys has another order in every process."""
    file, extra = tmp_path / "regions.yaml", [f"key{at}" for at in (3, 1, 4, 15, 9, 2, 6)]
    for inside in (
        "",
        "regions:\n  - {name: calf, rung: 0, " + ", ".join(f"{key}: 1" for key in extra) + "}\n",
    ):
        outside = "" if inside else "".join(f"{key}: 1\n" for key in extra)
        file.write_text(outside + inside, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"key3: unknown key"):
            vocabulary(str(file))


def test_an_alias_of_itself_has_no_end(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    for held in (
        "phantom: &a [*a]",
        "phantom: &a {subjects: *a}",
        "phantom: {subjects: 8}\nsearch: &a {space: [1, {x: *a}]}",
    ):
        file.write_text(held, encoding="utf-8")
        with pytest.raises(ConfigError, match="expand to inf characters"):
            load_settings(file)


def test_aliases_of_settings_are_what_they_stand_for(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "phantom: {subjects: &n 8}\nprepare: {split: &s [0.5, 0.25, 0.25]}\nseed: *n\n",
        encoding="utf-8",
    )
    settings = load_settings(file)
    assert settings.seed == settings.phantom.subjects == 8 and settings.prepare.split == (
        0.5,
        0.25,
        0.25,
    )


@hypothesis.settings(max_examples=50)
@hypothesis.given(
    recursive(
        none() | integers() | floats(allow_nan=False) | text(max_size=400),
        lambda more: lists(more) | dictionaries(text(), more),
        max_leaves=20,
    )
)
def test_a_value_in_a_message_is_shown_as_python_writes_it_or_shortened(value: object) -> None:
    seen = show_value(value)
    assert len(seen) <= 200
    if len(repr(value)) <= 100 and not isinstance(value, list | dict):
        assert seen == repr(value)


def test_values_given_by_a_program_are_shortened_too() -> None:
    """Snakemake reads the file itself, and hands over lists that hold each other thousands of times."""
    nested: object = "x"
    for _ in range(40):
        nested = [nested] * 9
    for raw in (
        {"phantom": {"without": nested}},
        {"search": {"space": nested}},
        {"search": {"space": {"depth": nested}}},
        {"search": {"space": {"depth": {"ordinal": nested}}}},
        {"results": nested},
        {"prepare": "x" * 10**6},
    ):
        assert len(faults(**raw)) < 20_000  # nine levels, five types that none of them is
