"""The possible volumes under the paths that a user gives, and their volume_ids.

A DICOM series is one volume, however many files it has.  Its path is that of its folder, file or
archive if that contains no other series, else its address, with the series' digits after `#` (see
`dicom.address`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fovnet.errors import VolumeError
from fovnet.records import BLANK_BY_CHARACTER, digest
from fovnet.volume.dicom.address import address, split_address
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.source import (
    OTHER_VOLUME_SUFFIXES,
    PAIR_SUFFIXES,
    DicomObject,
    UnreadObject,
    files_under,
    find_document_kind,
)
from fovnet.volume.dicom.survey import (
    ProgressReport,
    file_stamp,
    forget_survey,
    survey,
    survey_objects,
)
from fovnet.volume.dicom.table import make_series_row, make_unread_row
from fovnet.volume.sources.kind import FileKind, file_kind
from fovnet.volume.sources.other_formats import recognise_unread_image
from fovnet.volume.sources.readers import DICOM_READER, find_reader, has_reader, volume_name
from fovnet.volume.sources.source import Source, source_of
from fovnet.words import is_or_are, several

VOLUME_SUFFIXES = (
    *(suffix for suffix in OTHER_VOLUME_SUFFIXES if suffix not in PAIR_SUFFIXES),
    ".dcm",
    ".ima",
    ".zip",
)
"""Suffixes of volume files.  A file with one of them that fovnet cannot read is refused by name
instead of ignored."""

# a table blanks these, and would differ from the JSON
CONTROL_CHARACTERS = re.compile(f"[{''.join(map(chr, BLANK_BY_CHARACTER))}]+")
# bytes of a volume_id: <volume_id>.json and its temporary name must fit into the 255 of a file name
MAX_ID_BYTES = 200
RESERVED_IDS = ("found",)  # found.json lists the DICOM series
# hidden folders of programs, which keep copies of what is seen
PROGRAM_FOLDERS = (".git", ".datalad", ".snakemake", ".svn", ".hg", ".cache", ".Trashes")
MAX_HIDDEN_FILES = 100  # files of any other hidden folder
MAX_ENDINGS_SHOWN = 5  # kinds of files that the refusal of a folder counts


class SeriesExtent(NamedTuple):
    """The files of a DICOM series on disk.

    byte_count  of all of them; of an archive, of the whole
    digest      changes when they or the notes on the series do
    """

    byte_count: int
    digest: str


@dataclass(frozen=True)
class Discovery:
    """The result of `find_volumes`.

    sources         what to read, each once
    series_rows     a row of `dicom.table` for every DICOM series, those set aside included
    passed_paths    files in folders that do not look like volumes, except those named like a volume beside
                    them (`.img`, `.raw`, `.json`); links to folders; and what is hidden but looks like a
                    volume or a folder with some
    extent_by_path  of every series to read
    """

    sources: list[Source]
    series_rows: list[dict[str, Any]]
    passed_paths: list[Path]
    extent_by_path: dict[Path, SeriesExtent]

    @property
    def volume_paths(self) -> list[Path]:
        """The paths of the sources."""
        return [source.path for source in self.sources]


@dataclass(frozen=True)
class _Inquiry:
    """What `find_volumes` was asked, and what it knows of files that it has opened.

    included_kinds  kinds of DICOM series to read although triage sets them aside
    show_ids        whether the rows of series have real ids
    progress        called after each DICOM header
    source_by_path  of the paths given, and of files in folders that may be volumes
    """

    included_kinds: Collection[str]
    show_ids: bool
    progress: ProgressReport | None
    source_by_path: dict[Path, Source] = field(default_factory=dict)

    def get_source(self, path: Path) -> Source:
        """The source at a path."""
        return self.source_by_path.get(path) or source_of(path)


@dataclass(frozen=True)
class _Listing:
    """What was found under one path.

    volume_paths    paths to read
    series_rows     of DICOM series and objects that could not be used, as in `Discovery.series_rows`
    extent_by_path  of the series to read
    passed_paths    as in `Discovery`
    """

    volume_paths: list[Path]
    series_rows: list[dict[str, Any]] = field(default_factory=list)
    extent_by_path: dict[Path, SeriesExtent] = field(default_factory=dict)
    passed_paths: list[Path] = field(default_factory=list)


def find_volumes(
    paths: Sequence[Path],
    include: Collection[str] = (),
    *,
    show_ids: bool = False,
    progress: ProgressReport | None = None,
    advice: str = "name the files themselves",
) -> Discovery:
    """The volumes to read: every file given by name, files in folders that look like volumes, and
    DICOM series; sorted within a folder.

    include   kinds of DICOM series to read although triage sets them aside (`triage.INCLUDABLE_KINDS`)
    progress  called after each DICOM header of a folder or an archive with (how many are done, how
              many there are)
    advice    what to try, in a refusal of folders whose files are no volumes
    If several DICOM files of a folder are given, their whole series are read; a single one is read alone.
    Links to folders are not followed, since they may form a loop.  A folder without volumes that is not
    inside another given path is returned itself, to be refused by name: it may be the mount point of an
    unmounted disk.  Raises VolumeError "volumes-none" if no path has anything to read.
    """
    inquiry = _Inquiry(include, show_ids, progress)
    kind_by_path = {path: file_kind(path) for path in _unique_paths(paths)}
    dicom_by_folder: dict[Path, list[Path]] = {}  # DICOM files given by name, by folder
    for path, kind in kind_by_path.items():
        inquiry.source_by_path[path] = Source.of(kind)
        if _is_file_of_dicom(kind):
            dicom_by_folder.setdefault(path.parent, []).append(path)
    # as sets that keep their order
    volume_paths: dict[Path, None] = {}
    passed_paths: dict[Path, None] = {}
    empty_folders: list[Path] = []
    row_by_key: dict[tuple[str, ...], dict[str, Any]] = {}
    extent_by_path: dict[Path, SeriesExtent] = {}
    for path, kind in kind_by_path.items():
        siblings: list[Path] = []
        if _is_file_of_dicom(kind):
            siblings = dicom_by_folder.get(path.parent, [])
        if siblings and path != siblings[0]:
            continue  # handled with the first file of its folder
        listing = _list_path(kind, siblings, inquiry)
        passed_paths.update(dict.fromkeys(listing.passed_paths))
        extent_by_path |= listing.extent_by_path
        row_by_key |= {_key_of_row(row): row for row in listing.series_rows}
        if listing.volume_paths:
            volume_paths.update(dict.fromkeys(listing.volume_paths))
        elif listing.series_rows or not kind.is_folder:
            volume_paths[path] = None  # refused by name
        elif path not in volume_paths and kind_by_path.keys().isdisjoint(path.parents):
            empty_folders.append(path)
    if not volume_paths:
        raise _refusal_of_nothing(list(kind_by_path), passed_paths, advice)
    return Discovery(
        sources=[
            inquiry.get_source(path) for path in _unique_paths([*volume_paths, *empty_folders])
        ],
        series_rows=list(row_by_key.values()),
        passed_paths=[path for path in passed_paths if path not in volume_paths],
        extent_by_path=extent_by_path,
    )


def _is_file_of_dicom(kind: FileKind) -> bool:
    """Whether a path given by name is a DICOM file."""
    return kind.is_file and not kind.series_id and _guess_role(kind) == "DICOM"


def _list_path(kind: FileKind, siblings: Sequence[Path], inquiry: _Inquiry) -> _Listing:
    """What is under one of the paths given.

    siblings  the DICOM files of its folder that are given by name, if it is one of them
    """
    path = kind.path
    if len(siblings) > 1:
        return _list_dicom(path.parent, inquiry, only_files=frozenset(siblings))
    if siblings:
        return _list_dicom(path, inquiry, [DicomObject(path)])
    if kind.series_id or kind.is_closed:
        return _Listing([path])
    if kind.is_folder:
        return _list_folder(path, inquiry)
    if kind.is_file and _guess_role(kind) == "archive":
        return _list_dicom(path, inquiry)
    return _Listing([path])


def _key_of_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What rows of the same series or object have in common."""
    return tuple(str(row.get(name, "")) for name in ("path", "series", "reason"))


@dataclass(frozen=True)
class PassedOver:
    """What `find_volumes` passed over, in its order.

    files         that do not look like volumes
    folder_links  links to folders
    hidden_paths  files and folders that may be or hold volumes
    """

    files: list[Path]
    folder_links: list[Path]
    hidden_paths: list[Path]

    @classmethod
    def of_paths(cls, passed: Iterable[Path]) -> PassedOver:
        """Of `Discovery.passed_paths`."""
        passed_over = cls([], [], [])
        for path in passed:
            if path.name.startswith("."):
                passed_over.hidden_paths.append(path)
            elif os.path.isdir(path):  # noqa: PTH112  (is_dir raises in a closed folder)
                passed_over.folder_links.append(path)
            else:
                passed_over.files.append(path)
        return passed_over

    @property
    def unread_images(self) -> dict[tuple[str, str], list[Path]]:
        """The files that hold an image which fovnet does not read, by (kind, one thing to try)."""
        paths_by_kind: dict[tuple[str, str], list[Path]] = {}
        for path in self.files:
            kind_and_remedy = recognise_unread_image(path)
            if kind_and_remedy:
                paths_by_kind.setdefault(kind_and_remedy, []).append(path)
        return paths_by_kind


def _refusal_of_nothing(paths: Sequence[Path], passed: Iterable[Path], advice: str) -> VolumeError:
    """The refusal of paths that have nothing to read: what there is, by kind, and one thing to try."""
    passed_over = PassedOver.of_paths(passed)
    files = passed_over.files
    hidden = passed_over.hidden_paths
    linked = passed_over.folder_links
    contents_phrase = ""
    if files:
        contents_phrase = f"; there {is_or_are(len(files))} {count_file_endings(files)}"
    hints = [
        f"{several(len(paths_of_kind), 'file')}, {paths_of_kind[0].name} for example: {kind}. {remedy}"
        for (kind, remedy), paths_of_kind in passed_over.unread_images.items()
    ]
    if hidden:
        hidden_phrase = several(len(hidden), "hidden file or folder", "hidden files or folders")
        verb = is_or_are(len(hidden))
        hints.append(
            f"{hidden_phrase} that may be or hold volumes {verb} passed over; name {hidden[0]} itself"
        )
    if linked:
        hints.append(f"links to folders are not followed; name {linked[0]} itself")
    hint = " ".join(hints) or advice
    if not (files or hints):
        hint = "nothing is there; give a folder that holds volumes"
    return VolumeError(
        "volumes-none",
        f"{', '.join(map(str, paths))}: no file that looks like a volume "
        f"({', '.join(VOLUME_SUFFIXES)}){contents_phrase}; {hint}",
    )


def count_file_endings(files: Sequence[Path]) -> str:
    """The number of files by their endings, the commonest first: "3 files: 2 .png, 1 without
    ending"."""
    file_counts = Counter(_ending_of_file(path) for path in files)
    count_phrases = [
        f"{file_count:,} {ending}"
        for ending, file_count in file_counts.most_common(MAX_ENDINGS_SHOWN)
    ]
    if len(file_counts) > MAX_ENDINGS_SHOWN:
        count_phrases.append("...")
    return f"{several(len(files), 'file')}: {', '.join(count_phrases)}"


def _ending_of_file(path: Path) -> str:
    """The ending of a file in lower case, with what is packed in it: ".tar.gz"."""
    ending = path.suffix.lower()
    if Path(path.stem).suffix.lower() == ".tar":
        return f".tar{ending}"
    return ending or "without ending"


def _hides_volumes(hidden: Path) -> bool:
    """Whether a hidden file is named like a volume, or one of the first files of a hidden folder
    looks like one.  What macOS writes beside each file on foreign disks (`._scan.nii`) is none."""
    if hidden.name.startswith("._") or hidden.name in PROGRAM_FOLDERS:
        return False
    if not os.path.isdir(hidden) or hidden.is_symlink():  # noqa: PTH112
        return hidden.name.lower().endswith(VOLUME_SUFFIXES)
    files = (
        Path(parent, file_name)
        for parent, _, file_names in os.walk(hidden)
        for file_name in file_names
    )
    return any(_guess_role(file_kind(path)) for path in islice(files, MAX_HIDDEN_FILES))


def _unique_paths(paths: Iterable[Path]) -> list[Path]:
    """Each path once, in its first spelling; a link is a path of its own."""
    path_by_absolute: dict[str, Path] = {}
    for path in paths:
        # resolve would follow links
        path_by_absolute.setdefault(os.path.abspath(path), path)  # noqa: PTH100
    return list(path_by_absolute.values())


def _list_folder(folder: Path, inquiry: _Inquiry) -> _Listing:
    """What is in a folder: files of other formats, archives, and DICOM series, whose files may be
    in several subfolders.

    If it contains only archives without a readable series, these are volumes: each is then refused
    with its reason.
    """
    contents = _classify_files(folder, inquiry)
    # an archive that is called like DICOM is no object of the folder
    has_namesakes = any(
        path.name.lower().endswith((".dcm", ".ima")) for path in contents.archive_paths
    )
    if has_namesakes:
        dicom_survey = survey_objects(contents.dicom_objects, inquiry.progress)
    else:
        dicom_survey = survey(folder, contents.dicom_objects, inquiry.progress)
    unread_objects = [
        unread
        for unread in dicom_survey.unread_objects
        if not (contents.volume_paths and unread.is_dicomdir)
    ]
    listing = _list_series(dicom_survey.series, unread_objects, None, inquiry)
    if not any(split_address(path)[0] == folder for path in listing.volume_paths):
        forget_survey(folder)  # a large tree whose series lie in folders of their own
    volume_names = {(path.parent, volume_name(path)) for path in contents.volume_paths}
    passed_files = [
        path
        for path in contents.skipped_files
        if path.name.upper() != "DICOMDIR" and (path.parent, volume_name(path)) not in volume_names
    ]
    volume_paths = sorted(contents.volume_paths + listing.volume_paths)
    if not volume_paths and not contents.dicom_objects:
        volume_paths = contents.archives_set_aside
    return _Listing(
        volume_paths=volume_paths,
        series_rows=contents.series_rows + listing.series_rows,
        extent_by_path=contents.extent_by_path | listing.extent_by_path,
        passed_paths=[
            *passed_files,
            *contents.folder_links,
            *filter(_hides_volumes, contents.hidden_paths),
        ],
    )


@dataclass(frozen=True)
class _FolderContents:
    """What is in a folder, by what it seems to be.

    volume_paths        files of other formats than DICOM, and volumes in archives
    series_rows         of the series in archives, as in `Discovery.series_rows`
    extent_by_path      of the series to read in archives
    dicom_objects       DICOM files
    skipped_files       what is no volume
    archive_paths       all zip archives, documents included
    archives_set_aside  archives with series, of which none is to be read
    folder_links        links to folders
    hidden_paths        hidden files and folders
    """

    volume_paths: list[Path] = field(default_factory=list)
    series_rows: list[dict[str, Any]] = field(default_factory=list)
    extent_by_path: dict[Path, SeriesExtent] = field(default_factory=dict)
    dicom_objects: list[DicomObject] = field(default_factory=list)
    skipped_files: list[Path] = field(default_factory=list)
    archive_paths: list[Path] = field(default_factory=list)
    archives_set_aside: list[Path] = field(default_factory=list)
    folder_links: list[Path] = field(default_factory=list)
    hidden_paths: list[Path] = field(default_factory=list)


def _classify_files(folder: Path, inquiry: _Inquiry) -> _FolderContents:
    """The files under a folder, by what they seem to be; archives are looked into."""
    contents = _FolderContents()
    for path in files_under(folder, contents.folder_links, contents.hidden_paths):
        kind = file_kind(path)
        role = _guess_role(kind)
        if role == "DICOM":
            contents.dicom_objects.append(DicomObject(path))
        elif role == "volume":
            contents.volume_paths.append(path)
            inquiry.source_by_path[path] = Source.of(kind)
        elif role == "archive":
            _add_archive(contents, kind, inquiry)
        else:
            contents.skipped_files.append(path)
    return contents


def _add_archive(contents: _FolderContents, kind: FileKind, inquiry: _Inquiry) -> None:
    """Adds the series of an archive; one that cannot be read is a volume, to be refused by name."""
    path = kind.path
    contents.archive_paths.append(path)
    listing = _list_dicom(path, inquiry)
    if not listing.series_rows and _is_document(path):
        contents.skipped_files.append(path)
        return
    contents.series_rows.extend(listing.series_rows)
    contents.extent_by_path.update(listing.extent_by_path)
    inquiry.source_by_path[path] = Source.of(kind)
    has_series = any(row["kind"] != "unreadable" for row in listing.series_rows)
    if has_series and not listing.volume_paths:
        contents.archives_set_aside.append(path)
    else:
        contents.volume_paths.extend(listing.volume_paths or [path])


def _guess_role(kind: FileKind) -> str:
    """What a file seems to be: "archive", "DICOM", "volume", else "".

    An unreadable one is "volume", and so is one that raises an unexpected exception: reading it
    will give the reason for its refusal.
    """
    try:
        if kind.is_closed:
            return "volume"
        if kind.is_archive:
            return "archive"
        if kind.looks_like_dicom():
            return "DICOM"
        if _looks_like_a_volume(kind):
            return "volume"
        return ""
    except Exception:
        return "volume"


def _list_dicom(
    container: Path,
    inquiry: _Inquiry,
    dicom_objects: Sequence[DicomObject] | None = None,
    only_files: Collection[Path] = (),
) -> _Listing:
    """The series of an archive or a file, or of a folder those that some of its files belong to.  An
    archive that cannot be opened is a volume itself.

    dicom_objects  those of the container, if they are known
    only_files     of a folder; empty for all series
    """
    try:
        dicom_survey = survey(container, dicom_objects, inquiry.progress)
    except Exception:  # a damaged archive may raise any: it is refused when it is read
        return _Listing([container])
    if not only_files:
        return _list_series(dicom_survey.series, dicom_survey.unread_objects, container, inquiry)
    unread_objects = [
        unread for unread in dicom_survey.unread_objects if unread.dicom_object.path in only_files
    ]
    return _list_series(dicom_survey.series, unread_objects, None, inquiry, only_files)


def _list_series(
    series_list: Sequence[Series],
    unread_objects: Sequence[UnreadObject],
    container: Path | None,
    inquiry: _Inquiry,
    only_files: Collection[Path] = (),
) -> _Listing:
    """These series, each with a path within `container`, else within the folder or file that contains
    all of the series.

    unread_objects  that could not be used; each file of them is a volume, to be refused by name
    only_files      only the series that these files belong to; empty for all
    """
    listing = _Listing(
        [
            unread.dicom_object.path
            for unread in unread_objects
            if not unread.dicom_object.member_name
        ]
    )
    folder_by_family = _folder_by_family(series_list)
    ids_by_location = _ids_by_location(series_list)
    for series in series_list:
        named_files = [path for path in sorted(_files_of_series(series)) if path in only_files]
        if only_files and not named_files:
            continue
        location = container or folder_by_family[series.family_key, series.person_digest]
        if named_files:  # these may be copies of files elsewhere
            location = named_files[0]
            if len(series.objects) > 1:
                location = location.parent
        is_alone = ids_by_location.get(location) == {series.series_id}
        path = location
        if not is_alone:
            path = address(location, series.series_id)
        if not series.is_set_aside or series.aside_kind in inquiry.included_kinds:
            listing.volume_paths.append(path)
            listing.extent_by_path[path] = _extent_of_series(series)
        else:
            listing.volume_paths.extend(named_files[:1])
        listing.series_rows.append(make_series_row(series, path, show_ids=inquiry.show_ids))
    listing.series_rows.extend(
        make_unread_row(unread) for unread in unread_objects if not _is_of_another_format(unread)
    )
    return listing


def _is_of_another_format(unread: UnreadObject) -> bool:
    """Whether a file named like DICOM is in another readable format: a NIfTI named `.dcm`."""
    try:
        return (
            not unread.dicom_object.member_name
            and find_reader(file_kind(unread.dicom_object.path)) is not DICOM_READER
        )
    except VolumeError:
        return False


def _folder_by_family(series_list: Iterable[Series]) -> dict[tuple[str, str], Path]:
    """By (family, person), the folder with all files of that series, whatever volumes it was split
    into; a single file itself."""
    paths_by_family: dict[tuple[str, str], set[Path]] = {}
    for series in series_list:
        family_paths = paths_by_family.setdefault((series.family_key, series.person_digest), set())
        family_paths.update(dicom_object.path for dicom_object in series.objects)
    return {
        family: Path(os.path.commonpath(family_paths))
        for family, family_paths in paths_by_family.items()
    }


def _extent_of_series(series: Series) -> SeriesExtent:
    """The size of a series' files, of an archive the whole, and a digest of their sizes and times
    and of the series' notes."""
    stamps = [file_stamp(path) for path in sorted(_files_of_series(series))]
    return SeriesExtent(
        sum(max(size, 0) for size, _ in stamps), digest([stamps, series.notes])[:16]
    )


def _files_of_series(series: Series) -> set[Path]:
    """The files with the images of a series, or with copies of them."""
    return {dicom_object.path for dicom_object in (*series.objects, *series.copied_objects)}


def _ids_by_location(series_list: Iterable[Series]) -> dict[Path, set[str]]:
    """For every file and folder, the ids of the series that reading it alone would find, by their
    images or copies of them in it.

    A series of the kind "repeat" counts in a folder that does not contain the series it repeats:
    read alone, it is not a repetition there.
    """
    ids_by_location: dict[Path, set[str]] = {}
    families_by_location: dict[Path, set[tuple[str, str]]] = {}  # of series that are no repetitions
    for series in sorted(series_list, key=lambda series: series.aside_kind == "repeat"):
        if series.aside_kind not in ("", "repeat"):
            continue
        family = (series.family_key, series.person_digest)
        for location in _files_and_folders_above(_files_of_series(series)):
            if not series.is_set_aside or family not in families_by_location.get(location, ()):
                ids_by_location.setdefault(location, set()).add(series.series_id)
            if not series.is_set_aside:
                families_by_location.setdefault(location, set()).add(family)
    return ids_by_location


def _files_and_folders_above(files: Collection[Path]) -> set[Path]:
    """Files, their folders, and all folders above."""
    folders = {path.parent for path in files}
    return {*files, *folders, *(ancestor for folder in folders for ancestor in folder.parents)}


def name_volumes(
    paths: Sequence[Path], id_by_path: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """One volume_id per path, in order: the name without suffix, with -2, -3, ... if several paths
    give the same name.

    id_by_path  volume_ids that paths, as text, had before and keep: the others are numbered beside them
    Names that differ only in case count as the same, since some file systems do not distinguish them; a name
    longer than `MAX_ID_BYTES` is cut, so that `<volume_id>.json` and its temporary name fit into the 255 bytes of
    a file name.  Tabs and line ends become a blank, and blanks at the ends are removed, as in the cells of a
    table; `RESERVED_IDS` are names of other files in the output folder.
    """
    count_by_name: Counter[str] = Counter(RESERVED_IDS)
    ids_in_use = {*RESERVED_IDS, *(volume_id.casefold() for volume_id in id_by_path.values())}
    volume_ids = []
    for path in paths:
        if str(path) in id_by_path:
            volume_ids.append(id_by_path[str(path)])
            continue
        plain_name = _plain_name(path)
        lower_name = plain_name.casefold()
        count_by_name[lower_name] += 1
        name_count = count_by_name[lower_name]
        volume_id = plain_name
        if name_count > 1:
            volume_id = f"{plain_name}-{name_count}"
        while volume_id.casefold() in ids_in_use:
            count_by_name[lower_name] += 1
            volume_id = f"{plain_name}-{count_by_name[lower_name]}"
        ids_in_use.add(volume_id.casefold())
        volume_ids.append(volume_id)
    return volume_ids


def _plain_name(path: Path) -> str:
    """The name of a volume without suffix, cut, and without tabs and line ends."""
    name = CONTROL_CHARACTERS.sub(" ", volume_name(path)).encode(errors="replace")[:MAX_ID_BYTES]
    return name.decode(errors="ignore").strip() or "volume"


def _is_document(path: Path) -> bool:
    """Whether a zip archive has a suffix of neither an archive nor a volume, or none and the
    members of a document."""
    if path.name.lower().endswith(VOLUME_SUFFIXES):
        return False
    return _has_suffix(path) or bool(find_document_kind(path))


def _looks_like_a_volume(kind: FileKind) -> bool:
    """Whether a file has the suffix of a volume, or none and the content of one."""
    path = kind.path
    if path.name.startswith("."):
        return False
    if path.name.lower().endswith(VOLUME_SUFFIXES):
        return True
    return not _has_suffix(path) and kind.is_file and has_reader(kind)


def _has_suffix(path: Path) -> bool:
    """Whether a name has a suffix that is no number: 1.2.840.113 is a UID."""
    return bool(path.suffix) and not path.suffix[1:].isdigit()
