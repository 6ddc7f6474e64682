"""The possible volumes under the paths that a user gives, and their volume_ids.

A DICOM series is one volume, however many files it has.  Its path is that of its folder, file or archive if
that contains no other series, else its address, with the series' digits after `#` (see `dicom.address`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fovnet.errors import VolumeError
from fovnet.records import BLANKED, digest
from fovnet.volume.dicom.address import address, split_address
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.source import (
    HALVES,
    OTHER_VOLUMES,
    Item,
    Unread,
    files_under,
    is_archive,
    is_closed,
    kind_of_document,
    looks_like_dicom,
)
from fovnet.volume.dicom.survey import Advance, file_stamp, forget, survey, survey_items
from fovnet.volume.dicom.table import series_row, unread_row
from fovnet.volume.sources.other_formats import unread_image
from fovnet.volume.sources.readers import DICOM, is_known, reader_of, volume_name
from fovnet.volume.sources.source import Source, source_of
from fovnet.words import several

SUFFIXES = (*(suffix for suffix in OTHER_VOLUMES if suffix not in HALVES), ".dcm", ".ima", ".zip")
"""Suffixes of volume files.  A file with one of them that fovnet cannot read is refused by name instead of
ignored."""

# a table blanks these, and would differ from the JSON
CONTROL = re.compile(f"[{''.join(map(chr, BLANKED))}]+")
# bytes of a volume_id: <volume_id>.json and its temporary name must fit into the 255 of a file name
LONGEST = 200
TAKEN = ("found",)  # found.json lists the DICOM series
# hidden folders of programs, which keep copies of what is seen, and how many files of any other are looked at
OF_PROGRAMS = (".git", ".datalad", ".snakemake", ".svn", ".hg", ".cache", ".Trashes")
LOOKED_INTO = 100
ENDINGS = 5  # kinds of files that the refusal of a folder counts


@dataclass(frozen=True)
class Found:
    """The result of `find`.

    sources  what to read, each once
    series   a row of `dicom.table` for every DICOM series, those set aside included
    passed   files in folders that do not look like volumes, except those named like a volume beside them
             (`.img`, `.raw`, `.json`); links to folders; and what is hidden but looks like a volume or a
             folder with some
    held     of every series to read, by its path: the bytes of its files, and a digest that changes with them
    """

    sources: list[Source]
    series: list[dict[str, Any]]
    passed: list[Path]
    held: dict[Path, tuple[int, str]]

    @property
    def volumes(self) -> list[Path]:
        """The paths of the sources."""
        return [source.path for source in self.sources]


def find(
    paths: Sequence[Path],
    include: Collection[str] = (),
    *,
    show_ids: bool = False,
    progress: Advance | None = None,
) -> Found:
    """The volumes to read: every file given by name, files in folders that look like volumes, and DICOM
    series; sorted within a folder.

    include   kinds of DICOM series to read although triage sets them aside (`triage.INCLUDABLE`)
    progress  told after each DICOM header of a folder or an archive (done, total)
    If several DICOM files of a folder are given, their whole series are read; a single one is read alone.
    Links to folders are not followed, since they may form a loop.  A folder without volumes that is not
    inside another given path is returned itself, to be refused by name: it may be the mount point of an
    unmounted disk.  Raises VolumeError "volumes-none" if no path has anything to read.
    """
    found: dict[Path, None] = {}
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    passed: dict[Path, None] = {}
    empty: list[Path] = []
    held: dict[Path, tuple[int, str]] = {}
    paths = _once(paths)
    given = set(paths)
    files = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113  (is_file raises in a closed folder)
    kinds = {path: _kind(path) for path in files}
    beside: dict[Path, dict[Path, None]] = {}  # DICOM files named one by one, by folder
    for path, kind in kinds.items():
        if kind == "DICOM":
            beside.setdefault(path.parent, {})[path] = None
    for path in paths:
        named = beside.get(path.parent, {})
        if os.path.isdir(path) and not is_closed(path):  # noqa: PTH112
            some, more, others = _under(path, include, show_ids, progress)
            passed.update(dict.fromkeys(others))
        elif path in named and len(named) > 1:
            if path != next(iter(named)):
                continue  # handled with the first file of its folder
            some, more = _series_under(path.parent, include, show_ids, named, progress)
        elif path in named or kinds.get(path) == "archive":
            some, more = _series_under(path, include, show_ids, (), progress)
        else:
            some, more = [path], []
        held |= {Path(row["path"]): row.pop("held") for row in more if "held" in row}
        rows.update(
            {
                tuple(str(row.get(name, "")) for name in ("path", "series", "reason")): row
                for row in more
            }
        )
        found.update(dict.fromkeys(some or ([path] if more or not os.path.isdir(path) else [])))  # noqa: PTH112  (refused by name)
        empty += [] if some or path in found or given.intersection(path.parents) else [path]
    if not found:
        raise _nothing(paths, passed)
    sources = [source_of(path) for path in _once([*found, *empty])]
    return Found(sources, list(rows.values()), [path for path in passed if path not in found], held)


@dataclass(frozen=True)
class PassedOver:
    """What `find` passed over, in its order.

    files   that do not look like volumes
    linked  links to folders
    hidden  files and folders that may be or hold volumes
    """

    files: list[Path]
    linked: list[Path]
    hidden: list[Path]

    @classmethod
    def of(cls, passed: Iterable[Path]) -> PassedOver:
        """Of `Found.passed`."""
        parts = cls([], [], [])
        for path in passed:
            if path.name.startswith("."):
                parts.hidden.append(path)
            elif os.path.isdir(path):  # noqa: PTH112  (is_dir raises in a closed folder)
                parts.linked.append(path)
            else:
                parts.files.append(path)
        return parts

    @property
    def unread_images(self) -> dict[tuple[str, str], list[Path]]:
        """The files that hold an image which fovnet does not read, by (kind, one thing to try)."""
        by_kind: dict[tuple[str, str], list[Path]] = {}
        for path in self.files:
            kind_and_remedy = unread_image(path)
            if kind_and_remedy:
                by_kind.setdefault(kind_and_remedy, []).append(path)
        return by_kind


def _nothing(paths: Sequence[Path], passed: Iterable[Path]) -> VolumeError:
    """The refusal of paths that have nothing to read: what there is, by kind, and one thing to try."""
    passed_over = PassedOver.of(passed)
    files, hidden, linked = passed_over.files, passed_over.hidden, passed_over.linked
    named_paths, known = ", ".join(map(str, paths)), ", ".join(SUFFIXES)
    seen = f"; there {'is' if len(files) == 1 else 'are'} {count_endings(files)}" if files else ""
    hints = [
        f"{several(len(paths_of_kind), 'file')}, {paths_of_kind[0].name} for example: {kind}. {remedy}"
        for (kind, remedy), paths_of_kind in passed_over.unread_images.items()
    ]
    if hidden:
        hints.append(
            f"{several(len(hidden), 'hidden file or folder', 'hidden files or folders')} that may be or hold "
            f"volumes {'is' if len(hidden) == 1 else 'are'} passed over; name {hidden[0]} itself"
        )
    if linked:
        hints.append(f"links to folders are not followed; name {linked[0]} itself")
    hint = " ".join(hints) or "name the files themselves"
    return VolumeError(
        "volumes-none", f"{named_paths}: no file that looks like a volume ({known}){seen}; {hint}"
    )


def count_endings(files: Sequence[Path]) -> str:
    """The number of files by their endings, the commonest first: "3 files: 2 .png, 1 without ending"."""
    endings = Counter(_ending(path) for path in files)
    counted = ", ".join(f"{count:,} {ending}" for ending, count in endings.most_common(ENDINGS))
    return f"{several(len(files), 'file')}: {counted}{', ...' if len(endings) > ENDINGS else ''}"


def _ending(path: Path) -> str:
    """The ending of a file in lower case, with what is packed in it: ".tar.gz"."""
    ending = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return f"{inner}{ending}" if inner == ".tar" else ending or "without ending"


def _hides_volumes(hidden: Path) -> bool:
    """Whether a hidden file is named like a volume, or one of the first files of a hidden folder looks like
    one.  What macOS writes beside each file on foreign disks (`._scan.nii`) is none."""
    if hidden.name.startswith("._") or hidden.name in OF_PROGRAMS:
        return False
    if not os.path.isdir(hidden) or hidden.is_symlink():  # noqa: PTH112
        return hidden.name.lower().endswith(SUFFIXES)
    within = (Path(parent, name) for parent, _, names in os.walk(hidden) for name in names)
    return any(_kind(path) for path in islice(within, LOOKED_INTO))


def _once(paths: Iterable[Path]) -> list[Path]:
    """Each path once, in its first spelling; a link is a path of its own."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(os.path.abspath(path), path)  # noqa: PTH100  (resolve would follow links)
    return list(first.values())


def _under(
    folder: Path, include: Collection[str], show_ids: bool, progress: Advance | None = None
) -> tuple[list[Path], list[dict[str, Any]], list[Path]]:
    """(volumes, rows, files passed over) of a folder: files of other formats, archives, and DICOM series,
    whose files may be in several subfolders.

    If it contains only archives without a readable series, these are returned: each is then refused with its
    reason.
    """
    found: list[Path] = []
    rows: list[dict[str, Any]] = []
    items: list[Item] = []
    others: list[Path] = []
    unused: list[Path] = []
    links: list[Path] = []
    hidden: list[Path] = []
    archives: list[Path] = []
    for path in files_under(folder, links, hidden):
        kind = _kind(path)
        if kind == "archive":
            archives.append(path)
            some, more = _series_under(path, include, show_ids, (), progress)
            if not more and _is_document(path):
                others.append(path)
                continue
            aside = not some and any(row["kind"] != "unreadable" for row in more)
            unused += [path] if aside else []
            found += some or ([] if aside else [path])
            rows += more
        elif kind == "DICOM":
            items.append(Item(path))
        else:
            (found if kind == "volume" else others).append(path)
    # an archive that is called like DICOM is no object of the folder
    named_alike = [path for path in archives if path.name.lower().endswith((".dcm", ".ima"))]
    held = survey_items(items, progress) if named_alike else survey(folder, items, progress)
    unread = [one for one in held.unread if not (found and one.is_directory)]
    wanted, more = _listed(held.series, unread, None, include, show_ids)
    if not any(split_address(path)[0] == folder for path in wanted):
        forget(folder)  # a large tree whose series lie in folders of their own
    called = {(path.parent, volume_name(path)) for path in found}
    passed = [
        path
        for path in others
        if path.name.upper() != "DICOMDIR" and (path.parent, volume_name(path)) not in called
    ]
    passed += [*links, *filter(_hides_volumes, hidden)]
    return sorted(found + wanted) or ([] if items else unused), rows + more, passed


def _kind(path: Path) -> str:
    """What a file seems to be: "archive", "DICOM", "volume", else "".

    An unreadable one is "volume", and so is one that raises an unexpected exception: reading it will give the
    reason for its refusal.
    """
    try:
        if is_closed(path):
            return "volume"
        if is_archive(path):
            return "archive"
        if looks_like_dicom(path):
            return "DICOM"
        return "volume" if _looks_like_a_volume(path) else ""
    except Exception:
        return "volume"


def _series_under(
    place: Path,
    include: Collection[str],
    show_ids: bool,
    only: Collection[Path] = (),
    progress: Advance | None = None,
) -> tuple[list[Path], list[dict[str, Any]]]:
    """(volumes, rows) of an archive, a file, or the files `only` of a folder.  An archive that cannot be
    opened is returned as one path."""
    try:
        held = survey(place, None, progress)
    except Exception:  # a damaged archive may raise any: it is refused when it is read
        return [place], []
    if not only:
        return _listed(held.series, held.unread, place, include, show_ids)
    unread = [one for one in held.unread if one.item.path in only]
    return _listed(held.series, unread, None, include, show_ids, only)


def _listed(
    series: Iterable[Series],
    unread: Iterable[Unread],
    place: Path | None,
    include: Collection[str],
    show_ids: bool,
    only: Collection[Path] = (),
) -> tuple[list[Path], list[dict[str, Any]]]:
    """(paths to read, rows) of these series, each path within `place`, else within the folder or file that
    contains all of the series.

    only   only the series that these files belong to
    The row of one to read has an entry `held`, which `find` takes out.
    """
    series = list(series)
    paths = [one.item.path for one in unread if not one.item.member]
    places, homes = _places(series), _homes(series)
    rows = []
    for one in series:
        named = [path for path in sorted(_files(one)) if path in only]
        if only and not named:
            continue
        home = place or places[one.family, one.whose]
        if named:  # these may be copies of files elsewhere
            home = named[0] if len(one.items) == 1 else named[0].parent
        path = home if homes.get(home) == {one.id} else address(home, one.id)
        wanted = not one.kind or one.kind in include
        paths += [path] if wanted else named[:1]
        rows.append(
            series_row(one, path, show_ids=show_ids) | ({"held": _held(one)} if wanted else {})
        )
    return paths, rows + [unread_row(one) for one in unread if not _is_of_another_format(one)]


def _is_of_another_format(unread: Unread) -> bool:
    """Whether a file named like DICOM is in another readable format: a NIfTI named `.dcm`."""
    try:
        return not unread.item.member and reader_of(unread.item.path) is not DICOM
    except VolumeError:
        return False


def _places(series: Iterable[Series]) -> dict[tuple[str, str], Path]:
    """By family and person, the folder with all files of that series, whatever volumes it was split into; a
    single file itself."""
    files: dict[tuple[str, str], set[Path]] = {}
    for one in series:
        files.setdefault((one.family, one.whose), set()).update(item.path for item in one.items)
    return {claims: Path(os.path.commonpath(together)) for claims, together in files.items()}


def _held(series: Series) -> tuple[int, str]:
    """The bytes of its files, an archive's whole, and a digest of their sizes and times and of its notes."""
    stamps = [file_stamp(path) for path in sorted(_files(series))]
    return sum(max(size, 0) for size, _ in stamps), digest([stamps, series.notes])[:16]


def _files(series: Series) -> set[Path]:
    """The files with its images or copies of them."""
    return {item.path for item in (*series.items, *series.copies)}


def _homes(series: Sequence[Series]) -> dict[Path, set[str]]:
    """For every file and folder, the ids of the series that reading it alone would find, by their images or
    copies of them in it.

    A series of the kind "repeat" counts in a folder that does not contain the series it repeats: read alone,
    it is not a repetition there.
    """
    homes: dict[Path, set[str]] = {}
    repeated: dict[Path, set[tuple[str, str]]] = {}
    for one in sorted(series, key=lambda one: one.kind == "repeat"):
        if one.kind not in ("", "repeat"):
            continue
        files = _files(one)
        for home in files | {
            above
            for folder in {path.parent for path in files}
            for above in (folder, *folder.parents)
        }:
            if not one.kind or (one.family, one.whose) not in repeated.get(home, ()):
                homes.setdefault(home, set()).add(one.id)
            if not one.kind:
                repeated.setdefault(home, set()).add((one.family, one.whose))
    return homes


def name_volumes(
    paths: Sequence[Path], known: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """One volume_id per path, in order: the name without suffix, with -2, -3, ... if several paths give the
    same name.

    known  volume_ids that paths, as text, had before and keep: the others are numbered beside them
    Names that differ only in case count as the same, since some file systems do not distinguish them; a name
    longer than `LONGEST` is cut, so that `<volume_id>.json` and its temporary name fit into the 255 bytes of
    a file name.  Tabs and line ends become a blank, and blanks at the ends are removed, as in the cells of a
    table; `TAKEN` are names of other files in the output folder.
    """
    seen: Counter[str] = Counter(TAKEN)
    taken = {*TAKEN, *(volume_id.casefold() for volume_id in known.values())}
    ids = []
    for path in paths:
        if str(path) in known:
            ids.append(known[str(path)])
            continue
        name = (
            CONTROL.sub(" ", volume_name(path))
            .encode(errors="replace")[:LONGEST]
            .decode(errors="ignore")
            .strip()
            or "volume"
        )
        same = name.casefold()
        seen[same] += 1
        volume_id = name if seen[same] == 1 else f"{name}-{seen[same]}"
        while volume_id.casefold() in taken:
            seen[same] += 1
            volume_id = f"{name}-{seen[same]}"
        taken.add(volume_id.casefold())
        ids.append(volume_id)
    return ids


def _is_document(path: Path) -> bool:
    """Whether a zip archive has a suffix of neither an archive nor a volume, or none and the members of a
    document."""
    if path.name.lower().endswith(SUFFIXES):
        return False
    return (bool(path.suffix) and not path.suffix[1:].isdigit()) or bool(kind_of_document(path))


def _looks_like_a_volume(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if path.name.lower().endswith(SUFFIXES):
        return True
    if path.suffix and not path.suffix[1:].isdigit():  # 1.2.840.113 has a "suffix" too
        return False
    if not os.path.isfile(path):  # noqa: PTH113  (is_file raises in a closed folder); opening a pipe may block for ever
        return False
    return is_known(path)
