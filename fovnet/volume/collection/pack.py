"""A sliced collection on disk: all slices of all volumes in one memory-mapped array.

pixels.npy     (n, 128, 128) uint8, all volumes one after another, feet to head
slices.npz     volume (n,) int64 row of `volumes`; z_mm (n,); covers (n, 2); truth (n, k) bool, all False
               where not labelled
volumes.json   a record for each volume, refused ones included; classes; settings
manifest.tsv   the same records, for a spreadsheet
cache/         the slices of each volume by the file's checksum and the settings, so that a killed run can
               be resumed. May be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError, FovnetError, VolumeError
from fovnet.machine.parallel import run_in_order
from fovnet.records import (
    Array,
    checksum,
    clear_unfinished,
    read_json,
    read_npz,
    replace_with,
    write_json,
    write_npz,
    write_tsv,
)
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.unforeseen import internal, is_disk_full
from fovnet.volume.collection import cache
from fovnet.volume.collection.identity import Identifiers, scrubbed
from fovnet.volume.collection.split import FRACTIONS, split_subjects
from fovnet.volume.collection.tables import (
    RegionRow,
    VolumeRow,
    read_collection,
    refuse_shared_names,
    truth,
)
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE
from fovnet.volume.slices.stack import ALGORITHM, SliceStack, Slicing, slice_format, slice_volume
from fovnet.volume.sources.memory import BUDGET_BYTES, bytes_to_read
from fovnet.volume.sources.readers import short_of_memory
from fovnet.volume.sources.source import source_of
from fovnet.volume.volume import Images

COLUMNS = (
    "volume_id",
    "subject_id",
    "collection",
    "split",
    "labelled",
    "status",
    "path",
    "slices",
    "code",
    "message",
    "shown_id",
)


@dataclass(frozen=True)
class VolumeRecord:
    """The record of one volume after slicing.

    subject_id  as written by `Identifiers`: a hash, unless plain ids are requested;  shown_id  the volume_id
        in that form, for reports
    split       train, validation, test; empty for an unlabelled volume, and for a refused one whose subject
                has no split
    status      "ok", or "refused" with the stable `code` and the sentence `message`
    first_row, slices   its rows in pixels.npy;  side_mm, vox_to_ras, checksum, notes, counted,
                        counted_slices, images as in SliceStack
    """

    volume_id: str
    subject_id: str
    collection: str
    path: str
    labelled: bool
    status: str
    split: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    first_row: int = 0
    slices: int = 0
    side_mm: float | None = None
    vox_to_ras: tuple[tuple[float, ...], ...] | None = None
    checksum: str = ""
    code: str = ""
    message: str = ""
    notes: tuple[str, ...] = ()
    counted: tuple[int, ...] | None = None
    counted_slices: int | None = None
    shown_id: str = ""
    images: Images | None = None

    @property
    def subject(self) -> str:
        """The person: collection and subject_id; "01" of one collection and "01" of another are different
        people."""
        return f"{self.collection}/{self.subject_id}"

    @property
    def name_in_reports(self) -> str:
        """The volume's name in reports; the volume_id in packs of early versions, which have no shown_id."""
        return self.shown_id or self.volume_id

    @property
    def message_in_reports(self) -> str:
        """The message for reports, without the file's path and name unless plain ids are requested."""
        return scrubbed(self.message, self.path, self.volume_id, self.name_in_reports)


@dataclass(frozen=True)
class Pack:
    """The slices of all volumes, n in all, and the records of these volumes.

    pixels  (n, 128, 128) uint8, memory-mapped, read-only      volume  (n,) int64, index into `records`
    z_mm    (n,)        covers  (n, 2) int64                   truth   (n, k) bool in the order of `classes`
    slice_format  result of `stack.slice_format` when the slices were cut; called "looks" on disk
    """

    folder: Path
    classes: tuple[str, ...]
    pixels: NDArray[np.uint8]
    volume: NDArray[np.int64]
    z_mm: NDArray[np.float64]
    covers: NDArray[np.int64]
    truth: NDArray[np.bool_]
    records: tuple[VolumeRecord, ...]
    slice_format: Mapping[str, Any]

    @property
    def inputs(self) -> dict[str, Any]:
        """What must be stored with the weights of a network trained on these slices: the classes and the
        slice format."""
        return {"classes": list(self.classes), "slices": dict(self.slice_format)}

    @property
    def placing(self) -> Placing:
        """The size, volume and height of every slice."""
        sides_mm = np.array([record.side_mm or np.nan for record in self.records])
        return Placing(sides_mm[self.volume], self.volume, self.z_mm)

    def rows(self, split: str) -> NDArray[np.int64]:
        """(m,) rows of `pixels` in a split, ascending."""
        wanted = np.asarray([record.split == split for record in self.records], dtype=bool)
        return (
            np.flatnonzero(wanted[self.volume]) if len(self.volume) else np.zeros(0, dtype=np.int64)
        )

    def stack(self, index: int) -> SliceStack:
        """The slices of the volume `records[index]`, as returned by `slice_volume`.  Raises its VolumeError
        if it was refused."""
        record = self.records[index]
        if record.status != "ok" or record.vox_to_ras is None or record.side_mm is None:
            raise VolumeError(record.code, record.message)
        rows = slice(record.first_row, record.first_row + record.slices)
        return SliceStack(
            self.pixels[rows],
            self.z_mm[rows],
            self.covers[rows],
            record.side_mm,
            np.asarray(record.vox_to_ras),
            record.path,
            record.checksum,
            record.notes,
            None if record.counted is None else np.asarray(record.counted),
            record.counted_slices,
            record.images,
        )


@dataclass(frozen=True)
class Job:
    """One volume to slice: the input of a worker process."""

    row: VolumeRow
    labels: tuple[RegionRow, ...]
    cache: Path
    slicing: Slicing
    vocabulary: Vocabulary


@dataclass(frozen=True)
class Sliced:
    """The result of a worker process; the pixels stay in the cache file, so that 100,000 volumes fit in
    memory.

    use    of the cache: "hit", "made" (no entry), "remade" (damaged entry), "" for a refused volume
    shows  a digest of the pixels, which identifies the same scan under two names
    """

    cached: Path | None
    truth: NDArray[np.bool_] | None
    record: VolumeRecord
    use: str = ""
    shows: str = ""


def slice_collections(
    collections: Mapping[str, Path],
    out: Path,
    *,
    vocabulary: Vocabulary = DEFAULT,
    slicing: Slicing | None = None,
    seed: int = 0,
    workers: int = 1,
    identifiers: Identifiers = Identifiers(),  # noqa: B008  (frozen)
    prune_cache: bool = False,
    fractions: Sequence[float] = FRACTIONS,
    progress: Callable[[int, int], None] | None = None,
    log: Callable[[str], None] | None = None,
) -> Pack:
    """The pack in `out`, made from collections (name to folder or volumes.tsv) with `workers` processes.

    Its bytes depend neither on `workers` nor on the cache.  A volume that cannot be read is refused and
    recorded, and does not stop the others.  Raises CollectionError for a fault in a table, before any volume
    is read, and for the same scan under two subjects.

    identifiers  how ids are written; the splits are drawn from the original ids in the tables
    fractions    of the subjects of each collection for training, validation and test
    prune_cache  remove the cache entries that none of these volumes uses with these settings
    log          receives a sentence for every damaged cache entry, then one with the counts of hits and
                 misses
    """
    slicing = slicing or Slicing()
    tables = {name: read_collection(Path(path), vocabulary) for name, path in collections.items()}
    refuse_shared_names(tables)
    # an unwritable folder fails now, not after the last volume
    (out / "cache").mkdir(parents=True, exist_ok=True)
    jobs = [
        (name, Job(row, table.regions.get(row.volume_id, ()), out / "cache", slicing, vocabulary))
        for name, table in tables.items()
        for row in table.volumes
    ]
    results = _cut(jobs, workers, progress, log)
    _refuse_shared_scans(results)
    used = {result.cached for result in results if result.cached}
    pruned = cache.prune(out / "cache", used) if prune_cache else None
    if log:
        log(_cache_use(results, pruned))
    split = _splits(
        results, {name: table.volumes for name, table in tables.items()}, seed, fractions
    )
    _write(out, _placed(results, split, identifiers), vocabulary, slicing, seed)
    return load_pack(out)


def _cut(
    jobs: Sequence[tuple[str, Job]],
    workers: int,
    progress: Callable[[int, int], None] | None,
    log: Callable[[str], None] | None,
) -> list[Sliced]:
    """The result of every (collection, job), in order."""
    results: list[Sliced] = []
    sliced = run_in_order(
        _slice, (job for _, job in jobs), workers, _crashed, size=_size, budget=BUDGET_BYTES
    )
    for (name, job), result in zip(jobs, sliced, strict=True):
        results.append(replace(result, record=replace(result.record, collection=name)))
        if log and result.use == "remade":
            log(
                f"{result.record.volume_id}: its entry in {job.cache} was damaged; cut again from the volume"
            )
        if progress:
            progress(len(results), len(jobs))
    return results


def load_pack(folder: Path) -> Pack:
    """The pack in a folder, its pixels memory-mapped.  Raises CollectionError "pack-missing" or
    "pack-damaged"."""
    folder = Path(folder)
    try:
        facts = read_json(folder / "volumes.json")
        arrays = read_npz(folder / "slices.npz")
        rows = len(arrays["volume"])
        pixels = np.load(folder / "pixels.npy", mmap_mode="r" if rows else None, allow_pickle=False)
        known = {column.name for column in fields(VolumeRecord)}
        volumes = tuple(
            _record({name: value for name, value in row.items() if name in known})
            for row in facts["volumes"]
        )
        classes = tuple(facts["classes"])
        pack = Pack(
            folder,
            classes,
            pixels,
            arrays["volume"],
            arrays["z_mm"],
            arrays["covers"],
            arrays["truth"],
            volumes,
            facts["looks"],
        )
    except FileNotFoundError as fault:
        raise CollectionError(
            "pack-missing", f"{fault.filename}: no such file. `fovnet slice --config` makes it."
        ) from fault
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as fault:
        raise CollectionError(
            "pack-damaged", f"{folder}: a file of the pack is damaged ({fault}). Slice it again."
        ) from fault
    shapes = {
        len(pack.pixels),
        len(pack.z_mm),
        len(pack.covers),
        len(pack.truth),
        sum(record.slices for record in volumes),
        rows,
    }
    if (
        len(shapes) != 1
        or pack.pixels.shape[1:] != (SIDE, SIDE)
        or pack.truth.shape[1] != len(pack.classes)
    ):
        raise CollectionError(
            "pack-damaged",
            f"{folder}: its files belong to different runs ({shapes} slices). Slice it again.",
        )
    return pack


def _record(row: dict[str, Any]) -> VolumeRecord:
    """The record from its JSON form, lists converted to tuples."""
    affine = row.get("vox_to_ras")
    counted = row.get("counted")
    images = row.get("images")
    plain = {
        "notes": tuple(row.get("notes", ())),
        "counted": None if counted is None else tuple(counted),
        "images": images and Images(images["axis"], tuple(images["uids"]), tuple(images["frames"])),
    }
    return VolumeRecord(**{**row, **plain, "vox_to_ras": affine and tuple(map(tuple, affine))})


def _refuse_shared_scans(results: Iterable[Sliced]) -> None:
    """Raises CollectionError "collection-same-scan" if two subjects have identical slices: one person could
    be in two splits."""
    first: dict[str, VolumeRecord] = {}
    for result in results:
        one = result.record
        other = first.setdefault(result.shows, one) if result.shows else one
        if (other.collection, other.subject_id) != (one.collection, one.subject_id):
            raise CollectionError(
                "collection-same-scan",
                f"{one.path} and {other.path}: volumes {one.volume_id} and {other.volume_id} of "
                "two subjects show exactly the same slices. Give both the same subject_id, or remove one.",
            )


def _slice(job: Job) -> Sliced:
    """One volume sliced and cached, or refused; in a worker process."""
    record = _began(job)
    try:
        stack, cached, use = _cached_stack(job)
        shown = truth(stack, job.labels, job.vocabulary) if job.labels else None
    except FovnetError as fault:
        return _refused(record, fault)
    except MemoryError:
        return _refused(record, short_of_memory(job.row.path, "slice it"))
    except Exception as fault:
        if is_disk_full(fault):  # of the cache: no volume is to blame
            raise
        return _refused(record, internal(job.row.path, fault))
    affine = tuple(tuple(map(float, line)) for line in stack.vox_to_ras)
    return Sliced(
        cached,
        shown,
        replace(
            record,
            slices=len(stack.pixels),
            side_mm=stack.side_mm,
            vox_to_ras=affine,
            checksum=stack.checksum,
            notes=stack.notes,
            counted_slices=stack.counted_slices,
            counted=None if stack.counted is None else tuple(stack.counted.tolist()),
            images=stack.images,
        ),
        use,
        hashlib.sha256(stack.pixels.tobytes()).hexdigest(),
    )


def _refused(record: VolumeRecord, fault: FovnetError) -> Sliced:
    return Sliced(
        None, None, replace(record, status="refused", code=fault.code, message=fault.sentence)
    )


def _crashed(job: Job) -> Sliced:
    why = "slicing it crashed its process twice (memory?)"
    remedy = "Use fewer workers, or resample it to larger voxels"
    return _refused(_began(job), VolumeError("volume-crash", f"{job.row.path}: {why}. {remedy}."))


def _size(job: Job) -> int:
    return bytes_to_read(source_of(job.row.path))


def _began(job: Job) -> VolumeRecord:
    row = job.row
    path = row.path.as_posix()
    return VolumeRecord(
        row.volume_id,
        row.subject_id,
        "",
        path,
        bool(job.labels),
        "ok",
        attributes=dict(row.attributes),
    )


def _cached_stack(job: Job) -> tuple[SliceStack, Path, str]:
    """(slices, cache file, use) of a volume, cut now or in an earlier run; a damaged cache entry is
    replaced."""
    source = source_of(job.row.path)
    checksum = source.checksum
    beside = (
        source.neighbour_notes
    )  # affects the notes, but not the checksum of the series' own files
    facts = {"file": checksum, "slicing": asdict(job.slicing), "algorithm": ALGORITHM}
    cached = cache.entry(job.cache, facts | ({"beside": beside} if beside else {}))
    try:
        return _from_cache(cached, job.row.path, checksum), cached, "hit"
    except FileNotFoundError:
        use = "made"
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        use = "remade"
    stack = slice_volume(source, job.slicing)
    arrays: dict[str, Any] = {
        "pixels": stack.pixels,
        "z_mm": stack.z_mm,
        "covers": stack.covers,
        "side_mm": stack.side_mm,
        "vox_to_ras": stack.vox_to_ras,
        "notes": np.asarray(stack.notes, dtype=np.str_),
    }
    if stack.counted is not None:
        arrays |= {"counted": stack.counted, "counted_slices": stack.counted_slices}
    if stack.images is not None:
        arrays |= {
            "images_axis": stack.images.axis,
            "images_uids": np.asarray(stack.images.uids, dtype=np.str_),
            "images_frames": stack.images.frames,
        }
    cache.write(cached, arrays)
    return stack, cached, use


def _from_cache(cached: Path, path: Path, checksum: str) -> SliceStack:
    arrays = cache.read(cached)
    counted_slices = int(arrays["counted_slices"]) if "counted" in arrays else None
    images = None
    if "images_axis" in arrays:
        uids, frames = map(str, arrays["images_uids"]), map(int, arrays["images_frames"])
        images = Images(int(arrays["images_axis"]), tuple(uids), tuple(frames))
    return SliceStack(
        arrays["pixels"],
        arrays["z_mm"],
        arrays["covers"],
        float(arrays["side_mm"]),
        arrays["vox_to_ras"],
        str(path),
        checksum,
        tuple(map(str, arrays["notes"])),
        arrays.get("counted"),
        counted_slices,
        images,
    )


def _cache_use(results: Iterable[Sliced], pruned: tuple[int, int] | None) -> str:
    """A sentence with the counts of cache hits and misses."""
    count = Counter(result.use for result in results)
    sentence = (
        f"cache: {count['hit']} volumes from an earlier run, {count['made']} cut now, {count['remade']} cut "
        "again (damaged entries)"
    )
    return (
        sentence
        if pruned is None
        else f"{sentence}; {pruned[0]} unused files removed ({pruned[1] / 1e6:.1f} MB)"
    )


def _sealed(cached: Path) -> dict[str, Array]:
    """The arrays of an entry written or read earlier in this run.  Raises CollectionError "cache-changed" if
    it has changed since."""
    try:
        return cache.read(cached)
    except (OSError, ValueError) as fault:
        raise CollectionError(
            "cache-changed",
            f"{cached}: changed while its slices were packed ({fault}). Slice the collection again, "
            "one run at a time in one results folder.",
        ) from fault


def _splits(
    results: Sequence[Sliced],
    tables: Mapping[str, Sequence[VolumeRow]],
    seed: int,
    fractions: Sequence[float],
) -> dict[tuple[str, str], str]:
    """The split of each (collection, subject) with a labelled volume that was not refused, or a split in its
    table."""
    split: dict[tuple[str, str], str] = {}
    for name, rows in tables.items():
        given = {row.subject_id: row.split for row in rows if row.split}
        mine = [result.record for result in results if result.record.collection == name]
        taking_part = [one.subject_id for one in mine if one.labelled and one.status == "ok"]
        found = given | split_subjects(taking_part, name, seed, given, fractions)
        split.update({(name, subject): place for subject, place in found.items()})
    return split


def _placed(
    results: Iterable[Sliced], split: Mapping[tuple[str, str], str], identifiers: Identifiers
) -> list[Sliced]:
    """The results with the first row of each volume in pixels.npy, its split if it is labelled, and its ids
    as `identifiers` writes them."""
    placed, row = [], 0
    for result in results:
        one = result.record
        record = replace(
            one,
            first_row=row,
            subject_id=identifiers.shown(one.subject_id),
            split=split.get((one.collection, one.subject_id), "") if one.labelled else "",
            shown_id=identifiers.shown(one.volume_id),
        )
        placed.append(replace(result, record=record))
        row += one.slices
    return placed


def _write(
    out: Path, results: Sequence[Sliced], vocabulary: Vocabulary, slicing: Slicing, seed: int
) -> None:
    """Writes the four files of the pack; volumes.json last, so that an unfinished pack has none.

    If the contents of all four are unchanged, their modification times are kept: otherwise a workflow would,
    after `fovnet slice` by hand, repeat every job that depends on them.
    """
    files = [out / name for name in ("pixels.npy", "slices.npz", "manifest.tsv", "volumes.json")]
    before = [(checksum(path), path.stat()) for path in files if path.exists()]
    (out / "volumes.json").unlink(missing_ok=True)
    slices = sum(result.record.slices for result in results)
    z_mm, covers = np.empty(slices), np.empty((slices, 2), dtype=np.int64)
    shown = np.zeros((slices, len(vocabulary.classes)), dtype=bool)

    def write_pixels(file: BinaryIO) -> None:
        header = {"descr": "|u1", "fortran_order": False, "shape": (slices, SIDE, SIDE)}
        np.lib.format.write_array_header_1_0(file, header)
        for result in results:
            if result.cached is None:
                continue
            stack = _sealed(result.cached)
            rows = slice(result.record.first_row, result.record.first_row + result.record.slices)
            z_mm[rows], covers[rows] = stack["z_mm"], stack["covers"]
            shown[rows] = False if result.truth is None else result.truth
            file.write(np.ascontiguousarray(stack["pixels"]).tobytes())

    clear_unfinished(out)
    replace_with(out / "pixels.npy", write_pixels)
    volume = np.repeat(
        np.arange(len(results)), [result.record.slices for result in results]
    ).astype(np.int64)
    write_npz(out / "slices.npz", volume=volume, z_mm=z_mm, covers=covers, truth=shown)
    volumes = [asdict(result.record) for result in results]
    attributes = sorted({name for row in volumes for name in row["attributes"]} - set(COLUMNS))
    table = [
        {**row["attributes"], **row, "labelled": "yes" if row["labelled"] else "no"}
        for row in volumes
    ]
    write_tsv(out / "manifest.tsv", (*COLUMNS, *attributes), table)
    facts = {
        "classes": vocabulary.classes,
        "slicing": asdict(slicing),
        "looks": slice_format(slicing),
        "volumes": volumes,
    }
    write_json(out / "volumes.json", facts, settings=asdict(slicing), seed=seed)
    if len(before) == len(files) and all(
        checksum(path) == known for path, (known, _) in zip(files, before, strict=True)
    ):
        for path, (_, was) in zip(files, before, strict=True):
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
