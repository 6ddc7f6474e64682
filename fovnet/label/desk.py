"""What the page asks of a labelling: the volumes one after another, actions on them, and how far it is.

Every answer begins with what other processes have written meanwhile; every action is in the log before it is
answered, and in the tables as soon as these can be written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from fovnet.errors import CollectionError
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.slices import foremost_class
from fovnet.label.law import Extent, Extents, lawful, mended, shown
from fovnet.label.log import NAME, Log
from fovnet.label.order import ORDERS
from fovnet.label.pictures import ACROSS, Pictures, Shown
from fovnet.label.present import checksum_of_replaced
from fovnet.label.readings import (
    ASIDE,
    BLIND,
    CHANGES,
    DONE,
    GIVE,
    GIVEN,
    HELD_S,
    OPEN,
    REDO,
    SHOWN,
    SKIPPED,
    THIRD,
    UNDO,
    Book,
    Pages,
    Reading,
    State,
    independent,
    is_disputed,
)
from fovnet.label.starts import Item, Predicted
from fovnet.label.tables import (
    Lines,
    lines_of,
    refuse_tables_of_others,
    write_labels,
    write_volumes,
)
from fovnet.regions import LANDMARKS, MEANINGS, Vocabulary
from fovnet.volume.collection.tables import read_collection

AHEAD = 4  # volumes read ahead of the one that is looked at
OTHER_PREDICTED = (
    "this file is another than the one that was predicted, so no prediction is offered: give `fovnet "
    "predict` again"
)
NONE_OFFERED = (
    "nothing is offered for this volume, as another file was predicted: add the regions that you see, or "
    "press 0 first if it shows none"
)
OTHER_LABELLED = "a label of this volume was made on another file than this one, and is not offered"


@dataclass(frozen=True)
class Action:
    """What a reader does to a volume.  `act` is one of CHANGES, "undo", "redo" or "shown"; `revision` the one
    the page was shown."""

    act: str
    revision: int
    extents: tuple[tuple[str, int, int], ...] | None = None
    words: str | None = None


class Changed(Exception):
    """Somebody else changed the volume since the page was shown it."""


class Desk:
    """One reader's work on the volumes of `out`, by one process; sessions are the windows of the browser.

    Raises CollectionError as `Log`, and "collection-exists" for tables that are not a labelling's.
    """

    def __init__(
        self,
        out: Path,
        items: Sequence[Item],
        vocabulary: Vocabulary,
        *,
        reader: str,
        mode: str = OPEN,
        order: str = "teaching",
        seed: int = 0,
    ) -> None:
        refuse_tables_of_others(out)
        self.out, self.vocabulary, self.reader, self.mode = out, vocabulary, reader, mode
        self.log = Log(out / NAME, [*vocabulary.classes])
        self.book, self._lock = Book(vocabulary), Lock()
        self._far: dict[str, Far] = {}
        self._wrong: Measure | None = None
        self.replaced: list[str] = []  # volumes whose labels are of a file that is another now
        self._saved: dict[
            str, dict[str, Any]
        ] = {}  # the last action of this process on each volume
        self.unwritten = ""  # why the tables lag behind the log, in a sentence
        try:
            self._open(items)
        except BaseException:
            self.log.close()
            raise
        self.pictures = Pictures([one.row.path for one in self.items])
        known = [at for at, one in enumerate(self.items) if self._far[one.row.volume_id].is_done]
        self._order = order
        self.queue = ORDERS[order](self.items, seed, () if mode == BLIND else known)

    def volume(self, index: int) -> dict[str, Any]:
        """All that the page shows of a volume, without its pictures."""
        item, seen = self.items[index], self.pictures.of(index)
        with self._lock, self.log.held():
            self._follow()
            self._look(item.row.volume_id, seen)
            if not seen.fault:
                self.book.measure(item.row.volume_id, seen.grid)
            return self._facts(index, item, seen) | self._state(index, seen)

    def act(self, session: str, index: int, action: Action) -> dict[str, Any]:
        """The volume after an action, how far all is, and the next volume.  An action that is sent again, as
        its answer did not arrive, is not done twice.

        Raises Changed if somebody else changed the volume, CollectionError "label-unlawful" for a label that
        is none, "label-action" for an action that is none, and for one that settles without a region what
        was offered none because another file was predicted.
        """
        item, seen = self.items[index], self.pictures.of(index)
        fact = self._fact(session, item.row.volume_id, action, seen)
        with self._lock, self.log.held():
            self._follow()
            self._look(item.row.volume_id, seen)
            if action.act == DONE and not action.extents and self._is_unoffered(item, seen):
                raise CollectionError("label-action", NONE_OFFERED)
            if action.act == SHOWN or not self._is_repeated(fact, action):
                self._save(fact, action)
            if action.act != SHOWN:
                self._write_when_possible()
            told = {} if action.act == SHOWN else {"progress": self._progress()}
            state = self._state(index, seen) | told | {"next": self._next(session, index)}
        if (
            action.act == SHOWN
        ):  # another action is answered before the processor is needed for this
            self._read_ahead(session, index)
        return state

    def next(self, session: str, after: int | None) -> int | None:
        """The index of the volume to look at next, other than `after`; None if there is none left."""
        with self._lock, self.log.held():
            self._follow()
            found = self._next(session, after)
        if found is not None:
            self.pictures.ahead(found)
        return found

    def progress(self) -> dict[str, Any]:
        """How many volumes are done, by whom, how wrong the networks were on them, and why the tables lag
        behind, if they do."""
        with self._lock, self.log.held():
            self._follow()
            if self.unwritten:
                self._write_when_possible()
            return self._progress()

    def listed(self) -> list[tuple[int, str, str]]:
        """Every volume in the order of the queue: its index, its name, and "done", "skipped" or "left"."""
        with self._lock, self.log.held():
            self._follow()
            names = ((index, self.items[index].row.volume_id) for index in self.queue)
            return [(index, name, self._far[name].state) for index, name in names]

    def revision(self, index: int) -> int:
        """How often a volume was changed, as far as this reader may see."""
        return self.book.revision(self.items[index].row.volume_id, self.reader, self.mode)

    def close(self) -> None:
        """Stops reading ahead and closes the log."""
        self.pictures.close()
        self.log.close()

    def _open(self, items: Sequence[Item]) -> None:
        """Takes in what the log holds and what is new at this start, and writes the tables."""
        with self.log.held():
            self.book.follow(self.log.news())
            for session in [
                name for name, one in self.book.held.items() if one.reader == self.reader
            ]:
                del self.book.held[session]  # windows of a server that has ended
            self.items = self._with_earlier(items)
            self._place = {one.row.volume_id: at for at, one in enumerate(self.items)}
            self._give()
            self._set_aside_other_files()
            write_volumes(self.out, self.items)
            self._take_in({one.row.volume_id for one in self.items})
            self._write()

    def _with_earlier(self, items: Sequence[Item]) -> list[Item]:
        """The items, and the volumes of earlier starts; subjects and attributes as the table in `out` has
        them, which may be corrected by hand."""
        if not (self.out / "volumes.tsv").exists():
            return [*items]
        rows = {row.volume_id: row for row in read_collection(self.out, self.vocabulary).volumes}
        merged = []
        for one in items:
            row = rows.pop(one.row.volume_id, None)
            if row is not None and row.path.absolute() != one.row.path:
                raise CollectionError(
                    "label-same-name",
                    f"{row.volume_id}: the name of {row.path} in {self.out}, and of {one.row.path}; give "
                    "these volumes an --out of their own",
                )
            corrected = one if row is None else replace(one, row=replace(row, path=one.row.path))
            merged.append(
                replace(corrected, is_subject_guessed=one.is_subject_guessed and row is None)
            )
        return merged + [Item(replace(row, path=row.path.absolute())) for row in rows.values()]

    def _give(self) -> None:
        """Writes labels that volumes came with into the log, unless it has them."""
        for one in self.items:
            if one.given and one.given != self.book.pages(one.row.volume_id).given:
                fact = self._head("", one.row.volume_id, GIVE) | {"reader": GIVEN}
                fact["rows"] = [[row.region, row.first, row.last, row.in_mm] for row in one.given]
                if one.predicted and one.predicted.grid:
                    fact["grid"] = asdict(one.predicted.grid)
                self.log.append(fact)
        self.book.follow(self.log.news())

    def _set_aside_other_files(self) -> None:
        """Labels of a file that another has replaced since do not count."""
        for one in self.items:
            pages = self.book.pages(one.row.volume_id)
            pages.checksum = checksum_of_replaced(one, pages)
            if pages.checksum:
                self.replaced.append(one.row.volume_id)

    def _look(self, volume_id: str, seen: Shown) -> None:
        """Takes in which file is there now."""
        pages = self.book.pages(volume_id)
        if not seen.fault and pages.checksum != seen.checksum:
            pages.checksum = seen.checksum
            self._take_in({volume_id})

    def _head(self, session: str, volume_id: str, act: str) -> dict[str, Any]:
        """The beginning of a line of the log."""
        return {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "reader": self.reader,
            "session": session,
            "mode": self.mode,
            "volume_id": volume_id,
            "act": act,
        }

    def _follow(self) -> None:
        self._take_in(self.book.follow(self.log.news()))

    def _take_in(self, changed: Set[str]) -> None:
        """Works out anew how far the changed volumes are; of thousands a few change."""
        for name in changed & self._place.keys():
            one = self.items[self._place[name]]
            pages = self.book.pages(name)
            readers = [reader for reader in pages.finished() if reader != GIVEN]
            counts = None if self.mode == BLIND else _wrong_slices(one, pages, self.vocabulary)
            self._far[name] = Far(
                self._is_finished(pages),
                self._is_skipped(pages),
                tuple(readers),
                counts,
                lines_of(self.out, one, self.book),
            )
        if changed:
            subjects = [one.row.subject_id for one in self.items]
            self._wrong = _wrong_of(subjects, [self._far[one.row.volume_id] for one in self.items])

    def _write_when_possible(self) -> None:
        """Writes the tables.  Where they cannot be written, the action is saved all the same, as it is in the
        log, from which they are made at the next action, the next look at the progress, or the next start."""
        try:
            self._write()
            self.unwritten = ""
        except OSError as fault:
            reason = f"{fault.filename or self.out}: {fault.strerror}"
            self.unwritten = f"saved; the tables follow when there is room ({reason})"

    def _write(self) -> None:
        write_labels(self.out, [self._far[one.row.volume_id].lines for one in self.items])

    def _fact(self, session: str, volume_id: str, action: Action, seen: Shown) -> dict[str, Any]:
        """The line of the log."""
        _refuse_unknown(action)
        fact = self._head(session, volume_id, action.act)
        if action.act in (SHOWN, DONE) and not seen.fault:
            fact["grid"] = asdict(seen.grid)
        if action.extents is not None:
            label = lawful(
                (Extent(*one) for one in action.extents), seen.grid.slices, self.vocabulary
            )
            fact["extents"] = [list(one) for one in label]
            fact["checksum"] = seen.checksum
        return fact if action.words is None else fact | {"words": action.words}

    def _save(self, fact: dict[str, Any], action: Action) -> None:
        """Puts an action into the log and takes it in.  Raises Changed."""
        if action.act != SHOWN:
            self._refuse_changed(fact["volume_id"], action)
            self._saved[fact["volume_id"]] = fact
        self.log.append(fact)
        self._follow()

    def _is_repeated(self, fact: dict[str, Any], action: Action) -> bool:
        """Whether the last change of a volume is this action, from the same window."""
        volume_id = fact["volume_id"]
        last = self._saved.get(volume_id, {})
        is_next = self.book.revision(volume_id, self.reader, self.mode) == action.revision + 1
        return is_next and last | {"time": ""} == fact | {"time": ""}

    def _refuse_changed(self, volume_id: str, action: Action) -> None:
        if self.book.revision(volume_id, self.reader, self.mode) != action.revision:
            raise Changed

    def _is_finished(self, pages: Pages) -> bool:
        """Whether nothing is left to do for this reader: in blind readings the own one counts."""
        if self.mode == THIRD:
            return not is_disputed(pages)
        finished = pages.finished()
        own = self.reader in finished
        return own or (self.mode == OPEN and any(one.mode != BLIND for one in finished.values()))

    def _is_skipped(self, pages: Pages) -> bool:
        own = pages.readings.get(self.reader)
        return own is not None and own.now is not None and own.now.mark == SKIPPED

    def _next(self, session: str, after: int | None) -> int | None:
        return next(iter(self._waiting(session, after)), None)

    def _waiting(self, session: str, after: int | None) -> Iterable[int]:
        """The volumes left, in order; those that the reader skipped come last."""
        now = datetime.now(UTC).timestamp()
        held = {
            one.volume_id
            for other, one in self.book.held.items()
            if other != session and now - one.since < HELD_S
        }
        later = []
        for index in self.queue:
            name = self.items[index].row.volume_id
            if index == after or name in held or self._far[name].is_done:
                continue
            if self._far[name].is_skipped:
                later.append(index)
            else:
                yield index
        yield from later

    def _read_ahead(self, session: str, index: int) -> None:
        with self._lock:
            wanted = [index, *islice(self._waiting(session, index), AHEAD)]
        self.pictures.only_ahead(wanted)

    def _facts(self, index: int, item: Item, seen: Shown) -> dict[str, Any]:
        """What stays the same of a volume while it is labelled."""
        told = self._prediction(item, seen)
        message = self._doubts(item, seen)
        return {
            "index": index,
            "volume_id": item.row.volume_id,
            "subject_id": item.row.subject_id,
            "attributes": {} if self.mode == BLIND else dict(item.row.attributes),
            "message": message,
            "predicted": _listed(told.extents) if told else None,
            "fault": seen.fault,
            "notes": seen.notes,
            "cuts": seen.cuts,
            "across": ACROSS,
            "cut_of": seen.cut_of,
            "side_mm": seen.side_mm,
            "grid": asdict(seen.grid),
        }

    def _prediction(self, item: Item, seen: Shown) -> Predicted | None:
        """What is predicted of the file that is seen; blind, nothing."""
        predicted = item.predicted
        if self.mode == BLIND or predicted is None or predicted.checksum != seen.checksum:
            return None
        return predicted

    def _is_unoffered(self, item: Item, seen: Shown) -> bool:
        """Whether the reader begins with nothing as another file was predicted, and has not said anything of
        this one: that is no label without regions."""
        if self.mode == BLIND or item.predicted is None or self._prediction(item, seen):
            return False
        pages = self.book.pages(item.row.volume_id)
        own = pages.readings.get(self.reader, Reading()).now
        is_own = own is not None and own.is_read and own.is_of(seen.checksum)
        return not is_own and not self._begin(item, self._beside(pages), seen)

    def _doubts(self, item: Item, seen: Shown) -> str:
        """What is in doubt, in sentences: the file, where it is another than was predicted or labelled, and
        the prediction."""
        pages = self.book.pages(item.row.volume_id)
        told = self._prediction(item, seen)
        sentences = []
        if self.mode != BLIND and item.predicted and not told and not seen.fault:
            sentences.append(OTHER_PREDICTED)
        labels = [
            reading.now
            for reader, reading in pages.readings.items()
            if self.mode != BLIND or reader == self.reader
        ]
        if not seen.fault and any(label and not label.is_of(seen.checksum) for label in labels):
            sentences.append(OTHER_LABELLED)
        if told and told.message:
            sentences.append(told.message)
        return "; ".join(sentences)

    def _state(self, index: int, seen: Shown) -> dict[str, Any]:
        """What changes."""
        item = self.items[index]
        pages = self.book.pages(item.row.volume_id)
        own = pages.readings.get(self.reader, Reading())
        beside = self._beside(pages)
        begun = self._begin(item, beside, seen)
        is_own = own.now and own.now.is_read and own.now.is_of(seen.checksum)
        label = own.now.extents if own.now and is_own else begun
        return {
            "extents": _listed(label),
            "begun": _listed(begun),
            "mark": own.now.mark if own.now else "",
            "comment": own.now.comment if own.now else "",
            "revision": self.revision(index),
            "unoffered": self._is_unoffered(item, seen),
            "undo": bool(own.past),
            "redo": bool(own.future),
            "beside": [
                {
                    "reader": name,
                    "mark": one.mark,
                    "comment": one.comment,
                    "extents": _listed(one.extents),
                }
                for name, one in beside.items()
            ],
        }

    def _beside(self, pages: Pages) -> dict[str, State]:
        """The readings of others that this reader may see: none, those that are not blind, or the two that
        differ, without names."""
        if self.mode == BLIND:
            return {}
        finished = pages.finished()
        if self.mode == THIRD:
            two = sorted(independent(finished).items())
            return {f"reading {at}": one for at, (_, one) in enumerate(two, start=1)}
        return {
            name: one for name, one in finished.items() if name != self.reader and one.mode != BLIND
        }

    def _begin(self, item: Item, beside: dict[str, State], seen: Shown) -> Extents:
        """The label to begin with: the latest that others read, else the prediction; blind, none."""
        read = [one for one in beside.values() if one.mark == DONE and one.is_of(seen.checksum)]
        if read:
            return max(read, key=lambda one: one.at).extents
        predicted = self._prediction(item, seen)
        if predicted is None:
            return ()
        return mended(predicted.extents, seen.grid.slices, self.vocabulary)

    def _progress(self) -> dict[str, Any]:
        far = [*self._far.values()]
        by = (
            Counter(reader for one in far for reader in one.readers)
            if self.mode != BLIND
            else Counter()
        )
        done = sum(one.is_done for one in far)
        return {
            "volumes": len(far),
            "done": done,
            "left": len(far) - done,
            "readers": dict(sorted(by.items())),
            "wrong": asdict(self._wrong) if self._wrong else None,
            "is_random": self._order == "random",
            "unwritten": self.unwritten,
        }


@dataclass(frozen=True)
class Far:
    """How far one volume is: whether this reader is done with it, or skipped it, who finished it, its wrongly
    predicted slices and all of them, and its lines of the tables."""

    is_done: bool
    is_skipped: bool
    readers: tuple[str, ...]
    counts: tuple[int, int] | None
    lines: Lines

    @property
    def state(self) -> str:
        """In a word."""
        return "done" if self.is_done else "skipped" if self.is_skipped else "left"


def _wrong_of(subjects: Sequence[str], volumes: Sequence[Far]) -> Measure | None:
    """The share of slices on which the prediction is wrong, with its interval over people; None if nothing
    predicted is labelled."""
    both = zip(subjects, volumes, strict=True)
    counts = [(subject, *one.counts) for subject, one in both if one.counts]
    if not counts:
        return None
    people, wrong, total = zip(*counts, strict=True)
    draws = Resampling(people, repeats=400, seed=0)
    return draws.rates("slice_error", np.array(wrong)[:, None], np.array(total)[:, None])[0]


def _wrong_slices(one: Item, pages: Pages, vocabulary: Vocabulary) -> tuple[int, int] | None:
    """Wrong slices and slices of a volume that somebody labelled who saw the prediction."""
    read = [
        label
        for name, label in pages.finished().items()
        if label.mark == DONE
        and name != GIVEN
        and label.mode != BLIND
        and one.predicted
        and label.is_of(one.predicted.checksum)
    ]
    if not read or pages.grid is None or one.predicted is None:
        return None
    latest, slices = max(read, key=lambda label: label.at), pages.grid.slices
    said = shown(mended(one.predicted.extents, slices, vocabulary), slices, vocabulary)
    truth = shown(latest.extents, slices, vocabulary)
    right = truth[np.arange(slices), foremost_class(said, vocabulary)]
    return int((~right).sum()), slices


def words_of(vocabulary: Vocabulary) -> dict[str, Any]:
    """What the page needs to know of the regions: names in order, colours, landmarks between neighbours,
    and what side regions mean."""
    chain = vocabulary.chain
    return {
        "chain": chain,
        "side": vocabulary.side_regions,
        "colours": {name: vocabulary.colour(name) for name in vocabulary.classes},
        "meanings": [MEANINGS.get(name, "") for name in vocabulary.side_regions],
        "landmarks": [LANDMARKS.get(pair, "") for pair in pairwise(chain)],
    }


def _listed(extents: Extents) -> list[list[Any]]:
    return [list(one) for one in extents]


def _refuse_unknown(action: Action) -> None:
    """Raise CollectionError "label-action" unless the page could have sent this."""
    if action.act not in (*CHANGES, UNDO, REDO, SHOWN):
        raise CollectionError("label-action", f"{action.act!r}: no such action; reload the page")
    if action.act in ("edit", DONE) and action.extents is None:
        raise CollectionError("label-action", f"{action.act}: without a label; reload the page")
    if action.act == ASIDE and not (action.words or "").strip():
        raise CollectionError("label-action", "not to be labelled: say why, in a few words")
