"""Trainings that went on from slot to slot: counted once where trainings are counted, slot by slot where
slots are."""

from fovnet.acts.search import write_trials
from fovnet.records import read_tsv
from fovnet.report.content.trainings import trainings_of
from fovnet.search.trial import Outcome, Proposal, Trial

PLAN = [  # row, the slot continued, epochs, score, seconds
    (4, None, 1, 2.0, 1.0),
    (7, None, 1, 3.0, 2.0),
    (4, 0, 3, 1.5, 4.0),
    (9, None, 1, None, 0.5),
    (4, 2, 9, 1.0, 12.0),
]


def trials(schedule=True):
    for slot, (row, before, epochs, score, seconds) in enumerate(PLAN):
        places = (
            (epochs, before, 0 if before is None else PLAN[before][2], 0, (1, 3, 9).index(epochs))
            if schedule
            else ()
        )
        proposal = Proposal(
            slot, row, {"axis": row}, 0, tuple(range(slot)), (), 2.0 * seconds, None, *places
        )
        status, curve = ("diverged", (9.0,)) if score is None else ("completed", (score,) * epochs)
        yield Trial(proposal, Outcome(status, curve, curve, score, seconds, 1000 - slot, "cpu"))


def test_a_training_is_one_in_the_report_with_the_cost_of_all_its_slots(make_page):
    trainings = trainings_of(list(trials()))
    assert [(one.slot, one.epochs, one.seconds, one.predicted_seconds) for one in trainings] == [
        (4, 9, 17.0, 34.0),
        (1, 1, 2.0, 4.0),
        (3, 1, 0.5, 1.0),
    ]
    assert [one.peak_memory_bytes for one in trainings] == [1000, 999, 997]
    search = make_page(trials=list(trials()), bootstrap=20).search
    best = "3 trials, 1 of them failed. The best score is 1.0000, of trial 4; the start"
    assert search.sentence.startswith(best)
    assert [row[0] for row in search.best.rows] == ["4", "1"] and len(search.trials.rows) == 3
    costs = dict(search.costs.rows)
    assert (
        costs["trainings"] == "3"
        and costs["time of all trainings together"] == "19.5\N{NO-BREAK SPACE}s"
    )


def test_trials_tsv_has_a_row_a_slot_and_the_columns_of_a_schedule_only_under_one(tmp_path):
    write_trials(tmp_path / "trials.tsv", list(trials()))
    rows = read_tsv(tmp_path / "trials.tsv")
    assert [
        (one["slot"], one["continues"], one["bracket"], one["rung"], one["epochs"]) for one in rows
    ] == [
        ("0", "", "0", "0", "1"),
        ("1", "", "0", "0", "1"),
        ("2", "0", "0", "1", "3"),
        ("3", "", "0", "0", "1"),
        ("4", "2", "0", "2", "9"),
    ]
    write_trials(tmp_path / "full.tsv", list(trials(schedule=False)))
    assert list(read_tsv(tmp_path / "full.tsv")[0]) == [
        "slot",
        "status",
        "score",
        "axis",
        "epochs",
        "seconds",
        "predicted_seconds",
        "device",
        "message",
    ]
