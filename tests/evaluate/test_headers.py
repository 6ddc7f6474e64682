"""Header, truth and answer: what a header's text means, and who is right where they differ."""

import numpy as np
import pytest

from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.writing import write_evaluation
from fovnet.records import read_json, read_tsv
from fovnet.regions import DEFAULT, TERM_BY_CODES
from fovnet.volume.collection.body_part import OTHER_PART, as_body_part_terms, find_regions_of_text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("HEAD", ("head",)),
        ("Thorax", ("chest",)),
        ("lumbar spine", ("spine",)),
        ("T_SPINE", ("spine",)),
        ("LSPINE", ("spine",)),
        ("CHEST/ABDOMEN", ("abdomen", "chest")),
        ("LIVER DYNAMIC", ("abdomen",)),
        ("SHOULDER", ()),
        ("LOWER_EXTREMITY", ("legs",)),
        ("Upper Extremity", ()),
        ("LSSPINE", ("spine",)),
        ("", None),
        ("MRI 3", None),
        ("Abdomen Pelvis", ("pelvis", "abdomen")),
        ("wholebody", ("legs", "pelvis", "abdomen", "chest", "head")),
        *(
            (
                term.body_part,
                tuple(
                    name for name in DEFAULT.classes if name in DEFAULT.regions_of_code(term.sct)
                ),
            )
            for term in TERM_BY_CODES.values()
        ),
        *((region.body_part, (region.name,)) for region in DEFAULT.regions),
    ],
)
def test_codes_old_codes_and_free_text_are_understood(text, meant):
    assert find_regions_of_text(text) == meant


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Thorax", "CHEST"),
        ("Jane Doe head", "HEAD"),
        ("Jane Doe", OTHER_PART),
        ("Chest Abd Pelvis", "CHESTABDPELVIS"),
        ("CHEST+ABD", "ABDOMEN CHEST"),
        ("chestabdpelvis", "CHESTABDPELVIS"),
        ("wrist", "WRIST"),
        (" ", ""),
        ("WHOLE_BODY", "WHOLEBODY"),
        ("lower extremity", "LOWERLIMB"),
        ("CSPINE", "SPINE"),
    ],
)
def test_a_table_shows_known_words_alone(text, shown):
    assert as_body_part_terms(text) == shown


@pytest.fixture
def evaluation(planted):
    """A right header, one that names only a part, one beside the volume, two that name no region; the
    prediction errs in the fourth."""
    rows = [
        ("a", ["head"], ["head"], "BRAIN"),
        ("b", ["chest", "head"], ["chest", "head"], "HEAD"),
        ("c", ["legs"], ["legs"], "ABDOMEN"),
        ("d", ["pelvis"], ["legs"], "PELVIS"),
        ("e", ["head"], ["head"], "MR 12"),
        ("f", ["head"], ["head"], ""),
    ]
    cases = [
        planted.case(truth, predicted, volume_id=name, attributes={"body_part_examined": text})
        for name, truth, predicted, text in rows
    ]
    return evaluate(cases, DEFAULT, bootstrap=50, seed=0)


def test_rates_are_over_the_volumes_whose_header_is_understood(evaluation):
    counted = {one.name: (one.numerator, one.denominator) for one in evaluation.header_rates}
    assert counted == {
        "header_understood": (4, 6),
        "header_exact": (2, 4),
        "header_beside": (1, 4),
        "predicted_exact_where_header": (3, 4),
        "header_and_prediction_differ": (3, 4),
        "predicted_exact_where_they_differ": (2, 3),
        "header_exact_where_they_differ": (1, 3),
    }


def test_the_table_holds_header_truth_and_prediction(evaluation, tmp_path):
    write_evaluation(tmp_path, evaluation)
    rows = {row["text"]: row for row in read_tsv(tmp_path / "headers.tsv")}
    assert rows["HEAD"] == {
        "text": "HEAD",
        "header": "head",
        "truth": "chest+head",
        "predicted": "chest+head",
        "volumes": "1",
    }
    assert (
        sum(row["volumes"] for row in read_json(tmp_path / "evaluation.json")["headers"]["rows"])
        == 4
    )


def test_without_the_column_there_is_no_table(planted, tmp_path):
    evaluation = evaluate([planted.case(["head"])], DEFAULT, bootstrap=20, seed=0)
    # of an earlier run
    (tmp_path / "headers.tsv").write_text("text\theader\ttruth\tsaid\tvolumes\n")
    write_evaluation(tmp_path, evaluation)
    assert evaluation.header_rates == () and not (tmp_path / "headers.tsv").exists()
    assert np.all([one.name != "header_exact" for one in evaluation.everything.measures])
