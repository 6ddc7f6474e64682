"""Which files under the paths a user names may hold volumes, and what to call them.

A DICOM series is one volume, however many files it has: it is found under its folder or archive, which stands for it where it holds no
other, and else with the series' digits behind `#` (see `dicom.address`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.errors import VolumeError
from fovnet.records import BLANKED
from fovnet.volume.collection import LONGEST
from fovnet.volume.dicom.address import address
from fovnet.volume.dicom.reading import read as read_dicom
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.source import HALVES, OTHER_VOLUMES, Item, Unread, files_under, is_archive, is_closed, looks_like_dicom
from fovnet.volume.dicom.survey import survey, survey_of
from fovnet.volume.dicom.table import series_row, unread_row
from fovnet.volume.readers import is_known, reader_of, volume_name

SUFFIXES = (*(suffix for suffix in OTHER_VOLUMES if suffix not in HALVES), ".dcm", ".ima", ".zip")
"""Names under which archives keep volumes.  What fovnet cannot read among them is refused by name instead of passed over in silence."""

CONTROL = re.compile(f"[{''.join(map(chr, BLANKED))}]+")        # a table would hold another name than the JSON has
TAKEN = ("found",)  # found.json lists the DICOM series


@dataclass(frozen=True)
class Found:
    """The paths to read, each once; a row of `dicom.table` for every DICOM series, those set aside too; the files of folders that do not
    look like volumes, but for those called as a volume beside them is (an `.img`, a `.raw`, a `.json`), and links to folders."""

    volumes: list[Path]
    series: list[dict[str, Any]]
    passed: list[Path]


def find_volumes(paths: Sequence[Path], include: Collection[str] = ()) -> list[Path]:
    """The paths to read, as `find` gives them."""
    return find(paths, include).volumes


def find(paths: Sequence[Path], include: Collection[str] = (), *, show_ids: bool = False) -> Found:
    """What to read: files named themselves, whatever they are; what looks like a volume in folders; DICOM series; sorted by folder.

    include   kinds of DICOM series that are read though triage sets them aside (`triage.INCLUDABLE`)
    Of DICOM files named one by one their whole series is read, if there are several; a single one is read alone.  Links to folders are
    passed over, so that a loop of links ends.  A folder without a volume, below none of the others, is given itself, to be refused by
    name: an archive that is not mounted is one.  Raises VolumeError where none of the paths holds anything to read.
    """
    found: dict[Path, None] = {}
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    passed: dict[Path, None] = {}
    empty: list[Path] = []
    paths = _once(paths)
    beside: dict[Path, dict[Path, None]] = {}           # DICOM files named one by one, by folder
    for path in paths:
        if os.path.isfile(path) and not is_archive(path) and looks_like_dicom(path):      # noqa: PTH113  (is_file raises in a closed folder)
            beside.setdefault(path.parent, {})[path] = None
    for path in paths:
        named = beside.get(path.parent, {})
        if os.path.isdir(path) and not is_closed(path):      # noqa: PTH112
            under = _under(path, include, show_ids)
            some, more = under.volumes, under.series
            passed.update(dict.fromkeys(under.passed))
        elif path in named and len(named) > 1:
            if path != next(iter(named)):
                continue                                # its folder has been looked at
            some, more = _series_under(path.parent, include, show_ids, named)
        elif path in named or is_archive(path):
            some, more = _series_under(path, include, show_ids)
        else:
            some, more = [path], []
        rows.update({tuple(str(row.get(name, "")) for name in ("path", "series", "reason")): row for row in more})
        found.update(dict.fromkeys(some or ([path] if more or not os.path.isdir(path) else [])))     # noqa: PTH112  (refused by name)
        empty += [] if some or path in found or set(paths).intersection(path.parents) else [path]
    if not found:
        named_paths = ", ".join(map(str, paths))
        known = ", ".join(SUFFIXES)
        linked = next((str(path) for path in passed if os.path.isdir(path)), None)     # noqa: PTH112
        hint = "name the files themselves" if linked is None else f"links to folders are not followed, name {linked} itself"
        raise VolumeError("volumes-none", f"{named_paths}: no file that looks like a volume ({known}); {hint}")
    return Found(_once([*found, *empty]), list(rows.values()), [path for path in passed if path not in found])


def _once(paths: Iterable[Path]) -> list[Path]:
    """Each path once, as it is spelt first; a link is a path of its own."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(os.path.abspath(path), path)           # noqa: PTH100  (resolve would follow links)
    return list(first.values())


def _under(folder: Path, include: Collection[str], show_ids: bool) -> Found:
    """A tree: files of other formats, archives, and DICOM series wherever their files lie.

    Where it holds nothing but archives of which nothing is read, these are given: each is then refused with its reason.
    """
    found: list[Path] = []
    rows: list[dict[str, Any]] = []
    items: list[Item] = []
    others: list[Path] = []
    unused: list[Path] = []
    links: list[Path] = []
    for path in files_under(folder, links):
        if is_closed(path):
            found.append(path)
        elif is_archive(path):
            some, more = _series_under(path, include, show_ids)
            if _is_document(path) and not more:
                others.append(path)
                continue
            aside = not some and any(row["kind"] != "unreadable" for row in more)
            unused += [path] if aside else []
            found += some or ([] if aside else [path])
            rows += more
        elif looks_like_dicom(path):
            items.append(Item(path))
        elif _looks_like_a_volume(path):
            found.append(path)
        else:
            others.append(path)
    held = survey_of(items)
    wanted, more = _listed(held.series, held.unread, None, include, show_ids)
    called = {(path.parent, volume_name(path)) for path in found}
    passed = [path for path in others if path.name.upper() != "DICOMDIR" and (path.parent, volume_name(path)) not in called]
    return Found(sorted(found + wanted) or ([] if items else unused), rows + more, passed + links)


def _series_under(
    place: Path, include: Collection[str], show_ids: bool, only: Collection[Path] = ()
) -> tuple[list[Path], list[dict[str, Any]]]:
    """The volumes of an archive, a file, or `only` these files of a folder; and the rows.  An archive that cannot be opened is one path."""
    try:
        held = survey(place)
    except (VolumeError, OSError):
        return [place], []
    if not only:
        return _listed(held.series, held.unread, place, include, show_ids)
    unread = [one for one in held.unread if one.item.path in only]
    return _listed(held.series, unread, None, include, show_ids, only)


def _listed(
    series: Iterable[Series], unread: Iterable[Unread], place: Path | None, include: Collection[str], show_ids: bool,
    only: Collection[Path] = (),
) -> tuple[list[Path], list[dict[str, Any]]]:
    """(paths to read, rows) of these series, each in its `place`, else in the folder or file that holds all of it.

    only   files: the series they belong to, among all that lie beside them
    """
    series = list(series)
    paths = [one.item.path for one in unread if not one.item.member]
    places, homes = _places(series), _homes(series)
    rows = []
    for one in series:
        named = [path for path in sorted(_files(one)) if path in only]
        if only and not named:
            continue
        home = place or places[_claims(one)]
        if named:                                       # which may be copies of what lies elsewhere
            home = named[0] if len(one.items) == 1 else named[0].parent
        path = home if homes.get(home) == {one.id} else address(home, one.id)
        wanted = not one.kind or one.kind in include
        paths += [path] if wanted else named[:1]
        rows.append(series_row(one, path, show_ids=show_ids))
    return paths, rows + [unread_row(one) for one in unread if not _is_of_another_format(one)]


def _is_of_another_format(unread: Unread) -> bool:
    """Whether a file that is called DICOM and is none can be read all the same: a NIfTI called `.dcm`."""
    try:
        return not unread.item.member and reader_of(unread.item.path).read is not read_dicom
    except VolumeError:
        return False


def _claims(series: Series) -> tuple[str, str]:
    """The series UID that its first image claims, or the folder without one, and whose it is."""
    first = series.frames[0]
    return first.facts.series_uid or str(first.item.path.parent), series.whose


def _places(series: Iterable[Series]) -> dict[tuple[str, str], Path]:
    """The folder that holds all files of a person's series UID, or the file if it is a single one; whatever volumes it was split into."""
    files: dict[tuple[str, str], set[Path]] = {}
    for one in series:
        files.setdefault(_claims(one), set()).update(item.path for item in one.items)
    return {claims: Path(os.path.commonpath(together)) for claims, together in files.items()}


def _files(series: Series) -> set[Path]:
    """The files that hold its images, or a copy of one."""
    return {item.path for item in (*series.items, *series.copies)}


def _homes(series: Sequence[Series]) -> dict[Path, set[str]]:
    """The ids of the series to read that have images, or copies of some, in a file, or anywhere under a folder.

    By itself a folder knows nothing of the others: there a copy is no copy, and a repetition none where what it repeats lies elsewhere.
    """
    homes: dict[Path, set[str]] = {}
    repeated: dict[Path, set[tuple[str, str]]] = {}
    for one in sorted(series, key=lambda one: one.kind == "repeat"):
        if one.kind not in ("", "repeat"):
            continue
        files = _files(one)
        for home in files | {above for folder in {path.parent for path in files} for above in (folder, *folder.parents)}:
            if not one.kind or _claims(one) not in repeated.get(home, ()):
                homes.setdefault(home, set()).add(one.id)
            if not one.kind:
                repeated.setdefault(home, set()).add(_claims(one))
    return homes


def name_volumes(paths: Sequence[Path]) -> list[str]:
    """One volume_id a path, in order: the name without suffix, with -2, -3, ... where files in different folders share one.

    Names that differ in capitals alone count as shared, for some file systems keep one file of the two; a longer name than
    `LONGEST` is cut, for `<volume_id>.json` and its temporary name have to fit into the 255 bytes of a file name.  Tabs and ends of
    lines become a blank, and blanks at the ends are left out, as in the cells of a table; `TAKEN` are names of other files beside.
    """
    seen: Counter[str] = Counter(TAKEN)
    taken: set[str] = set(TAKEN)
    ids = []
    for path in paths:
        name = CONTROL.sub(" ", volume_name(path)).encode(errors="replace")[:LONGEST].decode(errors="ignore").strip() or "volume"
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
    """Whether a zip archive is called neither one nor a volume: a spreadsheet, arrays, a program."""
    return bool(path.suffix) and not path.suffix[1:].isdigit() and not path.name.lower().endswith(SUFFIXES)


def _looks_like_a_volume(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if path.name.lower().endswith(SUFFIXES):
        return True
    if path.suffix and not path.suffix[1:].isdigit():          # 1.2.840.113 has a "suffix" too
        return False
    if not os.path.isfile(path):                    # noqa: PTH113  (is_file raises in a closed folder); to open a pipe may wait for ever
        return False
    return is_known(path)
