"""Images grouped into volumes.

A DICOM series may contain several volumes: echoes, cardiac or contrast phases, b-values, magnitude and phase,
the three planes of a localiser.  Images are separated by attributes that are constant within a volume
(`keys`), then by position (`parting`).
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from fovnet.volume.dicom.animals import NOTE as ANIMAL
from fovnet.volume.dicom.animals import UNCLEAR
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.keys import NAMES, Key, keys_of, series_number
from fovnet.volume.dicom.parting import part_volumes
from fovnet.volume.dicom.people import (
    differing_attributes,
    digest_of,
    folder_of,
    is_identified,
    shares_of,
    spelling_of,
)
from fovnet.volume.dicom.repeats import LOOK_ATTRIBUTES, same_slices, some_slices
from fovnet.volume.dicom.source import Item, opened
from fovnet.volume.dicom.triage import kind_of
from fovnet.volume.dicom.uids import by_series, note_on_joining


@dataclass(frozen=True)
class Series:
    """The images of one volume, in the order of their numbers.

    id      twelve hex digits, independent of file paths, but different if images of another patient with this
            series UID lie beside them or another series under the same UID
    beside  the ids in these cases; they are valid as addresses without the other images, too
    whose   a digest of the person, the same for all their volumes under one series UID
    family  its series UID, else its folder, and its series number if there are several under one UID; of time
            points that have a UID each, that of the first
    kind, reason  why it is set aside; empty for one to read
    notes   sentences on other volumes in the series
    copies  the object of each copy of an image that was left out
    cut     those of them that are cut short
    """

    id: str
    frames: tuple[Frame, ...]
    kind: str = ""
    reason: str = ""
    copies: tuple[Item, ...] = ()
    cut: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    whose: str = ""
    family: str = ""

    def is_called(self, digits: str) -> bool:
        """Whether these are the digits of an address of this series."""
        return digits in (self.id, *self.beside)

    @property
    def items(self) -> list[Item]:
        """The objects that contain the images, each once."""
        return list(dict.fromkeys(frame.item for frame in self.frames))


def series_of(frames: Sequence[Frame]) -> list[Series]:
    """The groups of images, in the order of series number and image number.

    Images of other modalities, colour images and secondary captures are grouped apart, whatever their series
    UID; so are the images of each person if several share a series UID, or have none, as after careless
    pseudonymisation.
    """
    found = [series for one in by_series(frames) for series in _of_one_uid(one)]
    return sorted(
        found,
        key=lambda series: (
            int(_digits(series.frames[0].facts.series_number)),
            series.frames[0].facts.series_uid,
            series.frames[0].instance,
            series.id,
        ),
    )


SHARED_UID = "its series UID is that of another patient's images too"
SPELLINGS_NOTE = "its PatientID is written in several ways (leading zeros, case, blanks)"
UNIDENTIFIED = "its series UID is also that of images in another folder, numbered alike, and neither names its patient"


def _of_one_uid(frames: list[Frame]) -> list[Series]:
    """The groups of one series UID, separately for each person."""
    shares = shares_of(frames)
    note = UNIDENTIFIED
    if any(is_identified(person) for person, _ in shares):
        note = (
            f"{SHARED_UID}, by {', '.join(differing_attributes(frames))}"
            if len(shares) > 1
            else SHARED_UID
        )
    joined = note_on_joining(frames)
    notes = (
        *((note,) if len(shares) > 1 and frames[0].facts.series_uid else ()),
        *((joined,) if joined else ()),
    )
    taken: set[str] = set()
    found: list[Series] = []
    for whose, own in sorted(
        ((digest_of(person, own), own) for person, own in shares), key=lambda one: one[0]
    ):
        spellings = {frame.facts.patient_id for frame in own} - {""}
        spelt = (
            (SPELLINGS_NOTE,)
            if len(spellings) > 1 and len(set(map(spelling_of, spellings))) == 1
            else ()
        )
        found += _volumes(own, PersonShare(whose, len(shares) > 1, (*notes, *spelt)), taken)
    return found


@dataclass(frozen=True)
class PersonShare:
    """The person of these images (a digest), whether other people's images have the same series UID, and
    notes on the UIDs."""

    whose: str
    of_several: bool
    notes: tuple[str, ...]


def _volumes(frames: list[Frame], share: PersonShare, taken: set[str]) -> list[Series]:
    """The groups of one person's images of a series.  If there are several people, the ids depend on the
    person; new ids are added to `taken`."""
    frames, copies, cut = _without_copies(
        sorted(frames, key=lambda one: (one.instance, one.sop_uid, one.number, one.item))
    )
    parts = group_by_key(frames, keys_of(frames))
    differ = [name for index, name in enumerate(NAMES) if len({key[index] for key in parts}) > 1]
    versions = {key: _versions(part) for key, part in parts.items()}
    groups = [
        (key, own, attributes, group)
        for key, (first, *_) in versions.items()
        for own, attributes, group in part_volumes(first)
    ]
    differ += sorted({name for _, _, attributes, _ in groups for name in attributes})
    apart = f"of {len(groups)} of its series, told apart by {', '.join(differ)}"
    found: list[Series] = []
    animal: tuple[str, ...] = ()
    if frames[0].facts.animal:
        animal = (ANIMAL,)
    elif frames[0].facts.unclear_species:
        animal = (UNCLEAR,)
    for number, (key, own, _, group) in enumerate(groups, start=1):
        lost = tuple(item for frame in group for item in copies.pop(_image_id(frame), ()))
        kind, reason = kind_of(tuple(group))
        notes = (*share.notes, f"volume {number} {apart}") if len(groups) > 1 else share.notes
        digits, *beside = _ids(group[0], key, own, share, taken)
        taken.add(digits)
        shorter = tuple(item for item in lost if item in cut)
        found.append(
            Series(
                digits,
                tuple(group),
                kind,
                reason,
                lost,
                shorter,
                (*animal, *notes, *group[0].notes),
                tuple(beside),
                share.whose,
                _family(frames[0], key),
            )
        )
    for key, (_, *others) in versions.items():
        for group in others:
            kind, reason = kind_of(tuple(group))
            kind, reason = (kind, reason) if kind not in ("", "single") else ("repeat", VERSION)
            digits, *_ = _ids(group[0], key, (VERSION,), replace(share, of_several=False), taken)
            taken.add(digits)
            found.append(
                Series(
                    digits,
                    tuple(group),
                    kind,
                    reason,
                    whose=share.whose,
                    family=_family(frames[0], key),
                )
            )
    return _set_repeats_aside(sorted(found, key=lambda series: series.frames[0].instance), differ)


def _family(first: Frame, key: Key) -> str:
    return "\n".join((first.facts.series_uid or str(first.item.path.parent), key[-1]))


VERSION = "another version of images that are read from another folder"


def _versions(frames: list[Frame]) -> list[list[Frame]]:
    """[images with one version of each, then the other versions, grouped by folder].

    Images with the same SOP Instance UID, number and position but different bytes are versions of one image,
    edited or recompressed. The version in the folder with most of these images is used, of several such in
    the first; two in one folder are both kept.
    """
    known = group_by_key(
        frames, ((_image_id(frame), frame.instance, frame.position) for frame in frames)
    )
    held = Counter(map(folder_of, frames))
    chosen: list[Frame] = []
    others: dict[tuple[str, str], list[Frame]] = {}
    for versions in known.values():
        first = min(map(folder_of, versions), key=lambda folder: (-held[folder], folder))
        for frame in versions:
            taken = not frame.sop_uid or folder_of(frame) == first
            (chosen if taken else others.setdefault(folder_of(frame), [])).append(frame)
    return [chosen, *others.values()]


def _set_repeats_aside(found: list[Series], differ: list[str]) -> list[Series]:
    """The groups; of those that show the same slices at another time, echo or b-value, all but the first get
    the kind "repeat", and those that show only some of them."""
    kept: list[Series] = []
    result = []
    readable = [series for series in found if not series.kind]
    another = f"of another {' or '.join(name for name in differ if name not in LOOK_ATTRIBUTES)}"
    for series in found:
        reason = ""
        if not series.kind:
            family = series.family
            if any(
                family == other.family and same_slices(series.frames, other.frames)
                for other in kept
            ):
                reason = f"the same slices once more, {another}"
            elif any(
                family == other.family and some_slices(series.frames, other.frames)
                for other in readable
            ):
                reason = f"some of the same slices once more, {another}: broken off"
            else:
                kept.append(series)
        result.append(replace(series, kind="repeat", reason=reason) if reason else series)
    return result


ImageId = tuple[str, int, tuple[int, int] | None]


def _image_id(frame: Frame) -> ImageId:
    return frame.sop_uid, frame.number, frame.tile


def _without_copies(
    frames: list[Frame],
) -> tuple[list[Frame], dict[ImageId, list[Item]], set[Item]]:
    """(images without copies, the objects with the copies of each, those that are shorter): files of one UID
    are copies if the shorter is the beginning of the other.

    So a file truncated while it was copied is a copy; the longest is kept.
    """
    # for each image: the objects with a different version of it, and its index in `kept`
    seen: dict[ImageId, dict[Item, int]] = {}
    kept: list[Frame] = []
    copies: dict[ImageId, list[Item]] = {}
    cut: set[Item] = set()
    agree = functools.cache(_is_one_beginning)  # an object with a thousand frames is read once
    size = functools.cache(_size)
    for frame in frames:
        before = seen.setdefault(_image_id(frame), {}) if frame.sop_uid else {}
        same = next(
            (item for item in before if item == frame.item or agree(item, frame.item)), None
        )
        if same is None:
            before[frame.item] = len(kept)
            kept.append(frame)
            continue
        left_out, whole = frame.item, same
        if same != frame.item and size(frame.item) > size(same):
            before[frame.item] = before.pop(same)
            kept[before[frame.item]] = frame
            left_out, whole = same, frame.item
        if size(left_out) < size(whole):
            cut.add(left_out)
        copies.setdefault(_image_id(frame), []).append(left_out)
    return kept, copies, cut


def _is_one_beginning(one: Item, other: Item) -> bool:
    """Whether one of two objects is the beginning of the other."""
    with opened(one) as file, opened(other) as another:
        mine, others = file.read(), another.read()
    return mine.startswith(others) or others.startswith(mine)


def _size(item: Item) -> int:
    with opened(item) as file:
        return int(file.seek(0, 2))


def _ids(first: Frame, key: Key, own: Key, share: PersonShare, taken: Collection[str]) -> list[str]:
    """The id, then those that it has where images of another person, or of another series, lie under the same
    UID too."""
    *values, number = key
    numbers = ([number],) if number else ([], [series_number(first)])
    people = ([share.whose],) if share.of_several else ([], [share.whose])
    return [
        _id(first, (*values, *own, *which, *whose), taken) for which in numbers for whose in people
    ]


def _id(frame: Frame, key: tuple[str, ...], taken: Collection[str]) -> str:
    """Twelve hex digits that are not in `taken`."""
    number = 0
    while True:
        facts = [frame.facts.study_uid, frame.facts.series_uid, *key, str(number)]
        digits = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
        if digits not in taken:
            return digits
        number += 1


def _digits(number: str) -> str:
    return number if number.isascii() and number.isdigit() and len(number) < 18 else "0"
