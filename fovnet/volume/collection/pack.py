"""A sliced collection on disk: all slices of all volumes in one memory-mapped array.

pixels.npy     (n, 128, 128) uint8, all volumes one after another, feet to head
slices.npz     volume (n,) int64 row of `volumes`; z_mm (n,); covers (n, 2); truth (n, k) bool, all
               False where not labelled
volumes.json   a record for each volume, refused ones included; classes; settings
manifest.tsv   the same records, for a spreadsheet
cache/         the slices of each volume by the file's checksum and the settings, so that a killed
               run can be resumed. May be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError, FovnetError, VolumeError
from fovnet.machine.parallel import run_in_order
from fovnet.records import (
    Array,
    checksum,
    clear_unfinished,
    facts_of_record,
    field_by_json_key,
    json_key,
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
from fovnet.volume.collection.identity import Identifiers, hide_names
from fovnet.volume.collection.split import SPLIT_FRACTIONS, split_subjects
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import read_collection, refuse_shared_names
from fovnet.volume.collection.truth import divide_labels, find_classes_of_cuts
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.stack import (
    ALGORITHM,
    SliceStack,
    Slicing,
    describe_slice_format,
    slice_volume,
)
from fovnet.volume.sources.memory import BATCH_BUDGET_BYTES, estimate_bytes_to_read
from fovnet.volume.sources.readers import refusal_of_memory
from fovnet.volume.sources.source import source_of
from fovnet.volume.volume import Images
from fovnet.words import yes_or_no

# fmt: off
MANIFEST_COLUMNS = (
    "volume_id", "subject_id", "collection", "split", "labelled", "status", "path", "slices",
    "code", "message", "shown_id",
)
# fmt: on


@dataclass(frozen=True)
class VolumeRecord:
    """The record of one volume after slicing.

    subject_id   as written by `Identifiers`: a hash, unless plain ids are requested
    shown_id     the volume_id in that form, for reports
    split        train, validation, test; empty for an unlabelled volume, and for a refused one
                 whose subject has no split
    status       "ok", or "refused" with the stable `code` and the sentence `message`
    first_row    of its slices in pixels.npy
    slice_count  how many it has there
    The fields from side_mm on that are not named here are those of SliceStack.
    """

    volume_id: str
    subject_id: str
    collection: str
    path: str
    is_labelled: bool = field(metadata=json_key("labelled"))
    status: str
    split: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    first_row: int = 0
    slice_count: int = field(default=0, metadata=json_key("slices"))
    side_mm: float | None = None
    vox_to_ras: tuple[tuple[float, ...], ...] | None = None
    checksum: str = ""
    code: str = ""
    message: str = ""
    notes: tuple[str, ...] = ()
    label_slices: tuple[int, ...] | None = field(default=None, metadata=json_key("counted"))
    label_slice_count: int | None = field(default=None, metadata=json_key("counted_slices"))
    shown_id: str = ""
    images: Images | None = None

    @property
    def subject(self) -> str:
        """The person: collection and subject_id; "01" of one collection and "01" of another are
        different people."""
        return f"{self.collection}/{self.subject_id}"

    @property
    def name_in_reports(self) -> str:
        """The volume's name in reports; the volume_id in packs of early versions, which have no
        shown_id."""
        return self.shown_id or self.volume_id

    @property
    def message_in_reports(self) -> str:
        """The message for reports, without the file's path and name unless plain ids are
        requested."""
        return hide_names(self.message, self.path, self.volume_id, self.name_in_reports)


@dataclass(frozen=True)
class Pack:
    """The slices of all volumes, n in all, and the records of these volumes.

    pixels           (n, 128, 128) uint8, memory-mapped, read-only
    volume_of_slice  (n,) int64, index into `records`
    z_mm             (n,)
    slice_ranges     (n, 2) int64
    truth            (n, k) bool in the order of `classes`
    slice_format     result of `stack.describe_slice_format` when the slices were cut; called
                     "looks" on disk
    part_truth       (n, q) bool of the parts of regions, all of them where only the region is
                     labelled; None unless it is `in_wholes`
    """

    folder: Path
    classes: tuple[str, ...]
    pixels: NDArray[np.uint8]
    volume_of_slice: NDArray[np.int64]
    z_mm: NDArray[np.float64]
    slice_ranges: NDArray[np.int64]
    truth: NDArray[np.bool_]
    records: tuple[VolumeRecord, ...]
    slice_format: Mapping[str, Any]
    part_truth: NDArray[np.bool_] | None = None

    def in_wholes(self, vocabulary: Vocabulary) -> Pack:
        """The pack labelled with the regions of `vocabulary.whole`, and beside them with their parts;
        itself if the vocabulary of its classes has no parts."""
        if not vocabulary.parts:
            return self
        region_truth, part_truth = divide_labels(self.truth, vocabulary)
        return replace(
            self, classes=vocabulary.whole.classes, truth=region_truth, part_truth=part_truth
        )

    def in_classes_of(self, wanted: Vocabulary, labelled: Vocabulary) -> Pack:
        """The pack with its labels, of the classes of `labelled`, as those of another vocabulary with
        the same wholes; where it labels no parts, each is shown wherever its whole is."""
        if wanted.classes == labelled.classes:
            return self
        shown_by_label = dict(
            zip(labelled.whole.classes, self.in_wholes(labelled).truth.T, strict=True)
        )
        shown_by_label |= dict(zip(labelled.classes, self.truth.T, strict=True))
        truth_by_class = [
            next(shown_by_label[label] for label in labels if label in shown_by_label)
            for labels in wanted.labels_by_class
        ]
        return replace(self, classes=wanted.classes, truth=np.stack(truth_by_class, axis=1))

    @property
    def network_inputs(self) -> dict[str, Any]:
        """What must be stored with the weights of a network trained on these slices: the classes
        and the slice format."""
        return {"classes": list(self.classes), "slices": dict(self.slice_format)}

    @property
    def placing(self) -> Placing:
        """The size, volume and height of every slice."""
        sides_mm = np.array([record.side_mm or np.nan for record in self.records])
        return Placing(sides_mm[self.volume_of_slice], self.volume_of_slice, self.z_mm)

    def rows_in_split(self, split: str) -> NDArray[np.int64]:
        """(m,) rows of `pixels` in a split, ascending."""
        if not len(self.volume_of_slice):
            return np.zeros(0, dtype=np.int64)
        is_in_split = np.asarray([record.split == split for record in self.records], dtype=bool)
        return np.flatnonzero(is_in_split[self.volume_of_slice])

    def stack_of_volume(self, index: int) -> SliceStack:
        """The slices of the volume `records[index]`, as returned by `slice_volume`.  Raises its
        VolumeError if it was refused."""
        record = self.records[index]
        if record.status != "ok" or record.vox_to_ras is None or record.side_mm is None:
            raise VolumeError(record.code, record.message)
        row_range = slice(record.first_row, record.first_row + record.slice_count)
        label_slices = None
        if record.label_slices is not None:
            label_slices = np.asarray(record.label_slices)
        return SliceStack(
            pixels=self.pixels[row_range],
            z_mm=self.z_mm[row_range],
            slice_ranges=self.slice_ranges[row_range],
            side_mm=record.side_mm,
            vox_to_ras=np.asarray(record.vox_to_ras),
            source=record.path,
            checksum=record.checksum,
            notes=record.notes,
            label_slices=label_slices,
            label_slice_count=record.label_slice_count,
            images=record.images,
        )


@dataclass(frozen=True)
class SlicingJob:
    """One volume to slice: the input of a worker process."""

    volume_row: VolumeRow
    region_rows: tuple[RegionRow, ...]
    cache_folder: Path
    slicing: Slicing
    vocabulary: Vocabulary


@dataclass(frozen=True)
class SlicedVolume:
    """The result of a worker process; the pixels stay in the cache file, so that 100,000 volumes
    fit in memory.

    cache_use     "hit", "made" (no entry), "remade" (damaged entry), "" for a refused volume
    pixel_digest  of the pixels, which identifies the same scan under two names
    """

    cache_path: Path | None
    slice_truth: NDArray[np.bool_] | None
    record: VolumeRecord
    cache_use: str = ""
    pixel_digest: str = ""


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
    fractions: Sequence[float] = SPLIT_FRACTIONS,
    progress: Callable[[int, int], None] | None = None,
    log: Callable[[str], None] | None = None,
) -> Pack:
    """The pack in `out`, made from collections (name to folder or volumes.tsv) with `workers`
    processes.

    Its bytes depend neither on `workers` nor on the cache.  A volume that cannot be read is refused
    and recorded, and does not stop the others.  Raises CollectionError for a fault in a table,
    before any volume is read, and for the same scan under two subjects.

    identifiers  how ids are written; the splits are drawn from the original ids in the tables
    fractions    of the subjects of each collection for training, validation and test
    prune_cache  remove the cache entries that none of these volumes uses with these settings
    log          receives a sentence for every damaged cache entry, then one with the counts of hits
                 and misses
    """
    slicing = slicing or Slicing()
    tables = {name: read_collection(Path(path), vocabulary) for name, path in collections.items()}
    refuse_shared_names(tables)
    # an unwritable folder fails now, not after the last volume
    cache_folder = out / "cache"
    cache_folder.mkdir(parents=True, exist_ok=True)
    jobs: list[tuple[str, SlicingJob]] = []
    for name, table in tables.items():
        for row in table.volume_rows:
            labels = table.region_rows_by_volume.get(row.volume_id, ())
            jobs.append((name, SlicingJob(row, labels, cache_folder, slicing, vocabulary)))
    results = _slice_all(jobs, workers, progress, log)
    _refuse_shared_scans(results)
    used_paths = {result.cache_path for result in results if result.cache_path}
    pruned_files_and_bytes = None
    if prune_cache:
        pruned_files_and_bytes = cache.prune(cache_folder, used_paths)
    if log:
        log(_describe_cache_use(results, pruned_files_and_bytes))
    rows_by_collection = {name: table.volume_rows for name, table in tables.items()}
    split_by_subject = _assign_splits(results, rows_by_collection, seed, fractions)
    placed_results = _place_results(results, split_by_subject, identifiers)
    _write_pack(out, placed_results, vocabulary, slicing, seed)
    return load_pack(out)


def _slice_all(
    jobs: Sequence[tuple[str, SlicingJob]],
    workers: int,
    progress: Callable[[int, int], None] | None,
    log: Callable[[str], None] | None,
) -> list[SlicedVolume]:
    """The result of every (collection, job), in order."""
    results: list[SlicedVolume] = []
    slicing_jobs = (job for _, job in jobs)
    results_in_order = run_in_order(
        _slice_job,
        slicing_jobs,
        workers,
        _refused_after_crash,
        size=_bytes_to_read,
        budget=BATCH_BUDGET_BYTES,
    )
    for (collection, job), result in zip(jobs, results_in_order, strict=True):
        results.append(replace(result, record=replace(result.record, collection=collection)))
        if log and result.cache_use == "remade":
            log(
                f"{result.record.volume_id}: its entry in {job.cache_folder} was damaged; cut again from "
                "the volume"
            )
        if progress:
            progress(len(results), len(jobs))
    return results


def load_pack(folder: Path) -> Pack:
    """The pack in a folder, its pixels memory-mapped.  Raises CollectionError "pack-missing" or
    "pack-damaged"."""
    folder = Path(folder)
    try:
        pack = _read_pack(folder)
    except FileNotFoundError as fault:
        raise CollectionError(
            "pack-missing", f"{fault.filename}: no such file. `fovnet slice` makes it."
        ) from fault
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as fault:
        raise CollectionError(
            "pack-damaged", f"{folder}: a file of the pack is damaged ({fault}). Slice it again."
        ) from fault
    arrays = (pack.pixels, pack.z_mm, pack.slice_ranges, pack.truth)
    slice_count = sum(record.slice_count for record in pack.records)
    slice_counts = {*[len(array) for array in arrays], slice_count, len(pack.volume_of_slice)}
    is_square = pack.pixels.shape[1:] == (SIDE_PIXELS, SIDE_PIXELS)
    if len(slice_counts) != 1 or not is_square or pack.truth.shape[1] != len(pack.classes):
        raise CollectionError(
            "pack-damaged",
            f"{folder}: its files belong to different runs ({slice_counts} slices). Slice it again.",
        )
    return pack


def _read_pack(folder: Path) -> Pack:
    """The pack in a folder, not checked.  Raises any exception for a missing or damaged file."""
    pack_json = read_json(folder / "volumes.json")
    arrays = read_npz(folder / "slices.npz")
    mmap_mode: Literal["r"] | None = None  # an empty file cannot be mapped
    if len(arrays["volume"]):
        mmap_mode = "r"
    return Pack(
        folder=folder,
        classes=tuple(pack_json["classes"]),
        pixels=np.load(folder / "pixels.npy", mmap_mode=mmap_mode, allow_pickle=False),
        volume_of_slice=arrays["volume"],
        z_mm=arrays["z_mm"],
        slice_ranges=arrays["covers"],
        truth=arrays["truth"],
        records=tuple(map(record_from_json, pack_json["volumes"])),
        slice_format=pack_json["looks"],
    )


def record_from_json(json_row: Mapping[str, Any]) -> VolumeRecord:
    """The record from its JSON form, lists converted to tuples."""
    field_names = field_by_json_key(VolumeRecord)
    record_fields = {field_names.get(key, key): value for key, value in json_row.items()}
    affine = record_fields["vox_to_ras"]
    label_slices = record_fields["label_slices"]
    images = record_fields["images"]
    record_fields["notes"] = tuple(record_fields["notes"])
    if affine:
        record_fields["vox_to_ras"] = tuple(map(tuple, affine))
    if label_slices is not None:
        record_fields["label_slices"] = tuple(label_slices)
    if images:
        record_fields["images"] = Images(
            images["axis"], tuple(images["uids"]), tuple(images["frames"])
        )
    return VolumeRecord(**record_fields)


def _refuse_shared_scans(results: Iterable[SlicedVolume]) -> None:
    """Raises CollectionError "collection-same-scan" if two subjects have identical slices: one
    person could be in two splits."""
    first_record_by_digest: dict[str, VolumeRecord] = {}
    for result in results:
        record = result.record
        if not result.pixel_digest:
            continue
        earlier_record = first_record_by_digest.setdefault(result.pixel_digest, record)
        if (earlier_record.collection, earlier_record.subject_id) != (
            record.collection,
            record.subject_id,
        ):
            raise CollectionError(
                "collection-same-scan",
                f"{record.path} and {earlier_record.path}: volumes {record.volume_id} and "
                f"{earlier_record.volume_id} of two subjects show exactly the same slices. Give both the "
                "same subject_id, or remove one.",
            )


def _slice_job(job: SlicingJob) -> SlicedVolume:
    """One volume sliced and cached, or refused; in a worker process."""
    record = _begin_record(job)
    try:
        stack, cache_path, cache_use = _read_or_cut(job)
        slice_truth = None
        if job.region_rows:
            slice_truth = find_classes_of_cuts(stack, job.region_rows, job.vocabulary)
    except FovnetError as fault:
        return _refused_volume(record, fault)
    except MemoryError:
        return _refused_volume(record, refusal_of_memory(job.volume_row.path, "slice it"))
    except Exception as fault:
        if is_disk_full(fault):  # of the cache: no volume is to blame
            raise
        return _refused_volume(record, internal(job.volume_row.path, fault))
    label_slices = None
    if stack.label_slices is not None:
        label_slices = tuple(stack.label_slices.tolist())
    finished_record = replace(
        record,
        slice_count=len(stack.pixels),
        side_mm=stack.side_mm,
        vox_to_ras=tuple(tuple(map(float, affine_row)) for affine_row in stack.vox_to_ras),
        checksum=stack.checksum,
        notes=stack.notes,
        label_slice_count=stack.label_slice_count,
        label_slices=label_slices,
        images=stack.images,
    )
    pixel_digest = hashlib.sha256(stack.pixels.tobytes()).hexdigest()
    return SlicedVolume(cache_path, slice_truth, finished_record, cache_use, pixel_digest)


def _refused_volume(record: VolumeRecord, fault: FovnetError) -> SlicedVolume:
    """The result of a volume that is refused for this fault."""
    return SlicedVolume(
        None, None, replace(record, status="refused", code=fault.code, message=fault.sentence)
    )


def _refused_after_crash(job: SlicingJob) -> SlicedVolume:
    """The result of a volume whose worker process ended twice."""
    cause = "slicing it crashed its process twice (memory?)"
    remedy = "Use fewer workers, or resample it to larger voxels"
    fault = VolumeError("volume-crash", f"{job.volume_row.path}: {cause}. {remedy}.")
    return _refused_volume(_begin_record(job), fault)


def _bytes_to_read(job: SlicingJob) -> int:
    return estimate_bytes_to_read(source_of(job.volume_row.path))


def _begin_record(job: SlicingJob) -> VolumeRecord:
    """The record of a volume before it is sliced: its row of the table, with status "ok"."""
    return VolumeRecord(
        volume_id=job.volume_row.volume_id,
        subject_id=job.volume_row.subject_id,
        collection="",
        path=job.volume_row.path.as_posix(),
        is_labelled=bool(job.region_rows),
        status="ok",
        attributes=dict(job.volume_row.attributes),
    )


def _read_or_cut(job: SlicingJob) -> tuple[SliceStack, Path, str]:
    """(slices of a volume, their cache file, `SlicedVolume.cache_use`): cut now, or in an earlier
    run; a damaged cache entry is replaced."""
    source = source_of(job.volume_row.path)
    checksum = source.checksum
    # they are among the notes, but do not change the checksum of the series' own files
    neighbour_notes = source.neighbour_notes
    cache_key_facts: dict[str, Any] = {
        "file": checksum,
        "slicing": asdict(job.slicing),
        "algorithm": ALGORITHM,
    }
    if neighbour_notes:
        cache_key_facts["beside"] = neighbour_notes
    cache_path = cache.entry_path(job.cache_folder, cache_key_facts)
    try:
        return _read_cached_stack(cache_path, job.volume_row.path, checksum), cache_path, "hit"
    except FileNotFoundError:
        cache_use = "made"
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        cache_use = "remade"
    stack = slice_volume(source, job.slicing)
    cache.write(cache_path, _arrays_of_stack(stack))
    return stack, cache_path, cache_use


def _arrays_of_stack(stack: SliceStack) -> dict[str, Any]:
    """The arrays, by name, from which `_read_cached_stack` makes the stack again."""
    arrays: dict[str, Any] = {
        "pixels": stack.pixels,
        "z_mm": stack.z_mm,
        "covers": stack.slice_ranges,
        "side_mm": stack.side_mm,
        "vox_to_ras": stack.vox_to_ras,
        "notes": np.asarray(stack.notes, dtype=np.str_),
    }
    if stack.label_slices is not None:
        arrays |= {"counted": stack.label_slices, "counted_slices": stack.label_slice_count}
    if stack.images is not None:
        arrays |= {
            "images_axis": stack.images.axis,
            "images_uids": np.asarray(stack.images.uids, dtype=np.str_),
            "images_frames": stack.images.frames,
        }
    return arrays


def _read_cached_stack(cache_path: Path, path: Path, checksum: str) -> SliceStack:
    """The slices in a cache entry of the volume at `path`.  Raises as `cache.read`."""
    arrays = cache.read(cache_path)
    label_slice_count = None
    if "counted" in arrays:
        label_slice_count = int(arrays["counted_slices"])
    images = None
    if "images_axis" in arrays:
        images = Images(
            int(arrays["images_axis"]),
            tuple(map(str, arrays["images_uids"])),
            tuple(map(int, arrays["images_frames"])),
        )
    return SliceStack(
        pixels=arrays["pixels"],
        z_mm=arrays["z_mm"],
        slice_ranges=arrays["covers"],
        side_mm=float(arrays["side_mm"]),
        vox_to_ras=arrays["vox_to_ras"],
        source=str(path),
        checksum=checksum,
        notes=tuple(map(str, arrays["notes"])),
        label_slices=arrays.get("counted"),
        label_slice_count=label_slice_count,
        images=images,
    )


def _describe_cache_use(
    results: Iterable[SlicedVolume], pruned_files_and_bytes: tuple[int, int] | None
) -> str:
    """A sentence with the counts of cache hits and misses."""
    count_by_use = Counter(result.cache_use for result in results)
    sentence = (
        f"cache: {count_by_use['hit']} volumes from an earlier run, {count_by_use['made']} cut "
        f"now, {count_by_use['remade']} cut again (damaged entries)"
    )
    if pruned_files_and_bytes is None:
        return sentence
    file_count, size_bytes = pruned_files_and_bytes
    return f"{sentence}; {file_count} unused files removed ({size_bytes / 1e6:.1f} MB)"


def _read_sealed(cache_path: Path) -> dict[str, Array]:
    """The arrays of an entry written or read earlier in this run.  Raises CollectionError
    "cache-changed" if it has changed since."""
    try:
        return cache.read(cache_path)
    except (OSError, ValueError) as fault:
        raise CollectionError(
            "cache-changed",
            f"{cache_path}: changed while its slices were packed ({fault}). Slice the collection "
            "again, one run at a time in one results folder.",
        ) from fault


def _assign_splits(
    results: Sequence[SlicedVolume],
    rows_by_collection: Mapping[str, Sequence[VolumeRow]],
    seed: int,
    fractions: Sequence[float],
) -> dict[tuple[str, str], str]:
    """The split of each (collection, subject) with a labelled volume that was not refused, or a
    split in its table."""
    split_by_subject: dict[tuple[str, str], str] = {}
    for collection, rows in rows_by_collection.items():
        fixed_splits = {row.subject_id: row.split for row in rows if row.split}
        subjects_taking_part = [
            result.record.subject_id
            for result in results
            if result.record.collection == collection
            and result.record.is_labelled
            and result.record.status == "ok"
        ]
        split_of_subject = fixed_splits | split_subjects(
            subjects_taking_part, collection, seed, fixed_splits, fractions
        )
        for subject, split in split_of_subject.items():
            split_by_subject[collection, subject] = split
    return split_by_subject


def _place_results(
    results: Iterable[SlicedVolume],
    split_by_subject: Mapping[tuple[str, str], str],
    identifiers: Identifiers,
) -> list[SlicedVolume]:
    """The results with the first row of each volume in pixels.npy, its split if it is labelled, and
    its ids as `identifiers` writes them."""
    placed_results = []
    first_row = 0
    for result in results:
        record = result.record
        split = ""
        if record.is_labelled:
            split = split_by_subject.get((record.collection, record.subject_id), "")
        record = replace(
            record,
            first_row=first_row,
            subject_id=identifiers.written_id(record.subject_id),
            split=split,
            shown_id=identifiers.written_id(record.volume_id),
        )
        placed_results.append(replace(result, record=record))
        first_row += record.slice_count
    return placed_results


def _write_pack(
    out: Path, results: Sequence[SlicedVolume], vocabulary: Vocabulary, slicing: Slicing, seed: int
) -> None:
    """Writes the four files of the pack; volumes.json last, so that an unfinished pack has none.

    If the contents of all four are unchanged, their modification times are kept: otherwise a
    workflow would, after `fovnet slice` by hand, repeat every job that depends on them.
    """
    paths = [out / name for name in ("pixels.npy", "slices.npz", "manifest.tsv", "volumes.json")]
    checksum_and_status_by_path = {
        path: (checksum(path), path.stat()) for path in paths if path.exists()
    }
    (out / "volumes.json").unlink(missing_ok=True)
    clear_unfinished(out)
    _write_arrays(out, results, len(vocabulary.classes))
    record_rows = [facts_of_record(result.record) for result in results]
    _write_manifest(out / "manifest.tsv", record_rows)
    content = {
        "classes": vocabulary.classes,
        "slicing": asdict(slicing),
        "looks": describe_slice_format(slicing),
        "volumes": record_rows,
    }
    write_json(out / "volumes.json", content, settings=asdict(slicing), seed=seed)
    if len(checksum_and_status_by_path) < len(paths):
        return
    if all(checksum(path) == content for path, (content, _) in checksum_and_status_by_path.items()):
        for path, (_, file_status) in checksum_and_status_by_path.items():
            os.utime(path, ns=(file_status.st_atime_ns, file_status.st_mtime_ns))


def _write_arrays(out: Path, results: Sequence[SlicedVolume], class_count: int) -> None:
    """Writes pixels.npy and slices.npz, volume by volume from the cache; the rows of an unlabelled
    volume are False in `truth`."""
    slice_counts = [result.record.slice_count for result in results]
    slice_count = sum(slice_counts)
    z_mm = np.empty(slice_count)
    covers = np.empty((slice_count, 2), dtype=np.int64)
    slice_truth = np.zeros((slice_count, class_count), dtype=bool)

    def write_pixels(file: BinaryIO) -> None:
        """Writes pixels.npy, and fills the other arrays, volume by volume."""
        npy_header = {
            "descr": "|u1",
            "fortran_order": False,
            "shape": (slice_count, SIDE_PIXELS, SIDE_PIXELS),
        }
        np.lib.format.write_array_header_1_0(file, npy_header)
        for result in results:
            if result.cache_path is None:
                continue
            cached_arrays = _read_sealed(result.cache_path)
            row_range = slice(
                result.record.first_row, result.record.first_row + result.record.slice_count
            )
            z_mm[row_range] = cached_arrays["z_mm"]
            covers[row_range] = cached_arrays["covers"]
            if result.slice_truth is not None:
                slice_truth[row_range] = result.slice_truth
            file.write(np.ascontiguousarray(cached_arrays["pixels"]).tobytes())

    replace_with(out / "pixels.npy", write_pixels)
    volume_of_row = np.repeat(np.arange(len(results)), slice_counts).astype(np.int64)
    write_npz(out / "slices.npz", volume=volume_of_row, z_mm=z_mm, covers=covers, truth=slice_truth)


def _write_manifest(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes the records as a table, each attribute of the volumes in a column."""
    attribute_columns = sorted(
        {name for row in rows for name in row["attributes"]} - set(MANIFEST_COLUMNS)
    )
    table_rows = [
        {**row["attributes"], **row, "labelled": yes_or_no(row["labelled"])} for row in rows
    ]
    write_tsv(path, (*MANIFEST_COLUMNS, *attribute_columns), table_rows)
