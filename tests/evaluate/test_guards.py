"""What stops an evaluation: people it was tuned on, labels that have changed, decisions on other slices."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fovnet.errors import CollectionError
from fovnet.evaluate.guards import (
    mark_of_subject,
    refuse_changed_labels,
    refuse_learned_subjects,
    training_marks,
)
from fovnet.evaluate.reading import read_cases
from fovnet.regions import DEFAULT


@pytest.fixture
def pack(packed):
    labels = [packed.truth_of((3, 4, 5, 4, 3)) for _ in range(4)]
    return packed.pack_of(labels, ["train", "train", "validation", "test"])


def code_of(action, *arguments):
    with pytest.raises(CollectionError) as stop:
        action(*arguments)
    assert stop.value.sentence.count(" ") > 8
    return stop.value.code


class TestPeople:
    def test_marks_name_nobody_and_distinguish_the_splits(self, pack):
        learned = training_marks(pack)
        assert {split: len(marks) for split, marks in learned.items()} == {
            "train": 2,
            "validation": 1,
        }
        assert not any(name in json.dumps(learned) for name in ("p00", "p01", "p02", "p03", "made"))

    def test_who_taught_the_networks_that_were_trained_further_stays_marked(self, pack, planted):
        """But simulated people of another seed, who have the ids of these."""
        begun = {
            "fovnet": {"seed": 1},
            "subjects": {
                "train": [mark_of_subject("made/p03"), mark_of_subject("phantom/p03")],
                "validation": [],
            },
        }
        simulated = replace(
            pack, records=tuple(replace(one, collection="phantom") for one in pack.records)
        )

        def taught(pack, seed):
            return {"ensemble.json": {"subjects": training_marks(pack, begun, seed)}}

        met, drawn = (
            [planted.case(["head"], subject_id=f"{collection}/p03")]
            for collection in ("made", "phantom")
        )
        for seed in (1, 2):
            assert (
                code_of(refuse_learned_subjects, met, taught(pack, seed))
                == "evaluate-tuned-on-test"
            )
        assert (
            code_of(refuse_learned_subjects, drawn, taught(simulated, 1))
            == "evaluate-tuned-on-test"
        )
        refuse_learned_subjects(drawn, taught(simulated, 2))

    def test_nobody_of_the_test_split_passes(self, pack, planted):
        refuse_learned_subjects(
            [planted.case(["head"], subject_id="made/p03")],
            {"ensemble.json": {"subjects": training_marks(pack)}},
        )

    @pytest.mark.parametrize("split", ["train", "validation"])
    def test_a_test_subject_that_taught_the_rule_stops_it(self, pack, planted, split):
        learned = {**training_marks(pack), split: [mark_of_subject("made/p03")]}
        case = planted.case(["head"], subject_id="made/p03")
        assert (
            code_of(refuse_learned_subjects, [case], {"decision.json": {"subjects": learned}})
            == "evaluate-tuned-on-test"
        )

    def test_the_same_id_in_another_collection_is_another_person(self, pack, planted):
        refuse_learned_subjects(
            [planted.case(["head"], subject_id="other/p00")],
            {"ensemble.json": {"subjects": training_marks(pack)}},
        )

    def test_who_could_not_be_read_taught_nothing_and_is_not_tested(self, pack, planted):
        lost = replace(pack.records[0], subject_id="p09", status="refused", slice_count=0)
        assert training_marks(replace(pack, records=(*pack.records, lost))) == training_marks(pack)
        unread = planted.refused("v", "v.nii: empty.", subject_id="made/p00")
        refuse_learned_subjects([unread], {"ensemble.json": {"subjects": training_marks(pack)}})

    def test_files_of_an_older_fovnet_are_not_checked(self, planted):
        refuse_learned_subjects(
            [planted.case(["head"], subject_id="made/p00")], {"decision.json": {"rule": {}}}
        )


class TestTables:
    @pytest.fixture
    def tables(self, pack, tmp_path):
        """The tables that the pack was made from, on disk; labels are slice numbers."""
        (tmp_path / "volumes.tsv").write_text(
            "volume_id\tsubject_id\tpath\n"
            + "".join(f"{one.volume_id}\t{one.subject_id}\t{one.path}\n" for one in pack.records)
        )
        rows = [
            (region, *edge)
            for region, edge in zip(
                DEFAULT.chain, [(0, 2), (3, 6), (7, 11), (12, 15), (16, 18)], strict=True
            )
        ]
        self.write(tmp_path, pack, rows)
        return tmp_path, rows

    @staticmethod
    def write(folder, pack, rows):
        lines = [
            f"{one.volume_id}\t{region}\t{first}\t{last}\n"
            for one in pack.records
            for region, first, last in rows
        ]
        (folder / "regions.tsv").write_text(
            "volume_id\tregion\tfirst_slice\tlast_slice\n" + "".join(lines)
        )

    def test_the_labels_of_the_cut_pass(self, pack, tables):
        refuse_changed_labels(pack, {"made": tables[0]}, DEFAULT)

    def test_a_label_moved_by_a_slice_stops_it(self, pack, tables):
        folder, rows = tables
        self.write(folder, pack, [("legs", 0, 3), ("pelvis", 4, 6), *rows[2:]])
        assert (
            code_of(refuse_changed_labels, pack, {"made": folder}, DEFAULT)
            == "evaluate-truth-changed"
        )

    def test_labels_beyond_the_volume_stop_it(self, pack, tables):
        folder, rows = tables
        self.write(folder, pack, [*rows[:4], ("head", 16, 99)])
        assert (
            code_of(refuse_changed_labels, pack, {"made": folder}, DEFAULT) == "collection-slices"
        )

    def test_tables_that_are_gone_are_passed_over(self, pack, tmp_path):
        refuse_changed_labels(pack, {"made": tmp_path / "gone"}, DEFAULT)


class TestDecisions:
    @pytest.fixture
    def decision(self, pack, tmp_path):
        """The answer on the one test volume, as an older fovnet wrote it."""
        truth = pack.truth[-23:].astype(float)
        facts = {
            "status": "ok",
            "message": "",
            "z_mm": pack.z_mm[-23:].tolist(),
            "raw": truth.tolist(),
            "smoothed": truth.tolist(),
            "decided": truth.tolist(),
            "slice_confidence": [0.9] * 23,
            "spans": [],
            "side_mm": 400.0,
            "checksum": "c",
        }
        self.path = tmp_path / "v03.json"
        self.path.write_text(json.dumps(facts))
        return facts

    def test_of_an_older_fovnet_are_read_without_what_they_lack(self, pack, decision, tmp_path):
        (case,) = read_cases(pack, tmp_path)
        assert (
            case.decided_borders,
            case.set_probability,
            case.calibrated_probabilities,
            case.doubt_codes,
        ) == (
            None,
            None,
            None,
            (),
        )
        assert dict(case.attributes) == {"plane": "isotropic", "slice_spacing_mm": "8"}

    @pytest.mark.parametrize(
        ("split", "counted"), [("train", 1), ("validation", 1), ("test", 2), ("", 2)]
    )
    def test_a_refused_volume_counts_where_its_subject_does_or_nobody_knows(
        self, pack, decision, tmp_path, split, counted
    ):
        lost = replace(
            pack.records[0],
            volume_id="lost",
            status="refused",
            split=split,
            slice_count=0,
            first_row=0,
            message="cut short",
        )
        cases = read_cases(replace(pack, records=(*pack.records, lost)), tmp_path)
        assert [case.status for case in cases] == ["ok", "refused"][:counted]

    def test_what_newer_ones_hold_beside_is_read(self, pack, decision, tmp_path):
        more = {
            "boundaries": [
                {"below": "legs", "above": "pelvis", "mm": 20, "low_mm": 12.5, "high_mm": 28}
            ],
            "set_probability": 0.75,
            "doubts": [{"code": "low-confidence", "sentence": "confidence 0.4 is below 0.7"}],
        }
        self.path.write_text(json.dumps(decision | more))
        (case,) = read_cases(pack, tmp_path, temperature=2.0)
        (border,) = case.decided_borders
        assert (border.below, border.above, border.mm, border.low_mm, border.high_mm) == (
            "legs",
            "pelvis",
            20.0,
            12.5,
            28.0,
        )
        assert (case.set_probability, case.doubt_codes) == (0.75, ("low-confidence",))
        assert (
            case.calibrated_probabilities.max() < case.raw_probabilities.max()
            and case.calibrated_probabilities.sum(1) == pytest.approx(np.ones(23))
        )

    @pytest.mark.parametrize("change", [{"checksum": "another file"}, {"z_mm": list(range(23))}])
    def test_on_another_file_or_other_slices_are_stale(self, pack, decision, tmp_path, change):
        self.path.write_text(json.dumps(decision | change))
        assert code_of(read_cases, pack, tmp_path) == "decision-stale"

    def test_the_plane_of_the_table_stands_before_that_of_the_voxels(
        self, pack, decision, tmp_path
    ):
        thick = ((1.0, 0, 0, 0), (0, 6.0, 0, 0), (0, 0, 1.0, 0), (0, 0, 0, 1))
        for stated, plane in (({}, "coronal"), ({"plane": "oblique"}, "oblique")):
            records = (
                *pack.records[:-1],
                replace(pack.records[-1], vox_to_ras=thick, attributes=stated),
            )
            (case,) = read_cases(replace(pack, records=records), tmp_path)
            assert dict(case.attributes) == {"plane": plane, "slice_spacing_mm": "6"}
