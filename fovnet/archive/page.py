"""What the page of a run over an archive is about: that of the node, on the folder of answers."""

from __future__ import annotations

from fovnet.archive.run import ArchiveRun
from fovnet.node.page import WORDS_BY_FIGURE, PageSubject
from fovnet.node.places import Places
from fovnet.own_files import thumbnail_name
from fovnet.watch.tally import CountedAnswer

QUEUE_FIGURES = (
    "series_waiting",
    "series_fetching",
    "series_put_off",
    "series_failed",
    "oldest_waiting_s",
)
RUN_WORDS_BY_FIGURE = WORDS_BY_FIGURE | {
    "series_waiting": "series to be fetched",
    "series_fetching": "series on their way",
    "series_put_off": "series that failed, to be tried again",
    "series_failed": "series that did not come",
    "oldest_waiting_s": "the oldest is on its way for",
    "reports_stored": "reports stored by this run",
    "series": "series fetched",
    "instances": "images fetched",
    "bytes": "fetched in all",
}


def run_subject(archive_run: ArchiveRun) -> PageSubject:
    """What the page of a run is about; its title is the name of the folder.  Thumbnails are those of the
    index of answers, so there are none without pages."""
    folder = archive_run.folder

    def answer_time(answer: CountedAnswer) -> float:
        try:
            return (folder / f"{answer.volume_id}.json").stat().st_mtime
        except FileNotFoundError:
            return 0.0

    return PageSubject(
        kind="series of an archive",
        title=folder.resolve().name,
        places=Places(folder),
        queue_figures=QUEUE_FIGURES,
        words_by_figure=RUN_WORDS_BY_FIGURE,
        answer_time=answer_time,
        thumbnail_paths=lambda volume_id: [folder / thumbnail_name(volume_id)],
        reports_caption="Stored ones are removed from this disk.",
        newest_caption="Names are hashes. Tables are written when the run ends.",
        failed_by_code=archive_run.count_failures,
    )
