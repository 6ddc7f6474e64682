"""The time from file to slices: fovnet compared with MONAI's transforms, and with the least that
any reader has to do.

    fovnet  slice_volume: checksum, read, checks, RAS, cut, window
    MONAI   LoadImage, EnsureChannelFirst, Orientation(RAS), Spacing (along z, to the same
            distance), Resize (to as many slices)
    floor   the file's bytes, unpacked by the library that fovnet uses, and one resize of them to as
            many slices

All three are timed alternately in one process with one thread, so that other load on the machine
affects them alike.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from isal import isal_zlib

from fovnet.bench.timing import seconds_of, time_in_turn
from fovnet.bench.together import Progress
from fovnet.bench.tutorial import is_monai_installed
from fovnet.cli import main
from fovnet.cli.options import PathArgument, file_out, table_of
from fovnet.cli.screen import empty_table, first_notes, number_cells, out, progress_bar, show_table
from fovnet.errors import VolumeError
from fovnet.machine.allocation import keep_freed_memory
from fovnet.records import write_tsv
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.stack import SliceStack, slice_volume
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read
from fovnet.volume.unpacking import GZIP_MAGIC, open_unpacked

# by bytes per voxel; the kind of number does not change the time
STORED = {1: "u1", 2: "i2", 4: "f4", 8: "f8"}

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class SlicingTime:
    """Medians of the repeats in milliseconds; None where nothing was measured, with the reason in
    `note`.

    floor_ms      unpack_ms and one resize
    over_floor, monai_over_ours   medians of the ratios of each turn
    """

    path: str
    voxels: str = ""
    slices: int | None = None
    ours_ms: float | None = None
    monai_ms: float | None = None
    unpack_ms: float | None = None
    floor_ms: float | None = None
    over_floor: float | None = None
    monai_over_ours: float | None = None
    note: str = ""


COLUMNS = tuple(field.name for field in fields(SlicingTime))


def slicing_times(paths: Sequence[Path], repeats: int, progress: Progress) -> Iterator[SlicingTime]:
    """The times of each file, one after another; `progress` is called with (files done, in all).  A
    refused file has a note instead."""
    import torch

    keep_freed_memory()
    torch.set_num_threads(1)
    for done, path in enumerate(paths):
        progress(done, len(paths))
        try:
            yield _times(path, repeats)
        except VolumeError as refusal:
            yield SlicingTime(str(path), note=refusal.sentence)
        except OSError as fault:
            yield SlicingTime(str(path), note=f"{path}: cannot be read ({fault.strerror or fault})")
    progress(len(paths), len(paths))


def medians(rows: Sequence[SlicingTime]) -> dict[str, float | None]:
    """The median over the files of each ratio, None where no file has it."""
    medians_by_name: dict[str, float | None] = {}
    for name in ("over_floor", "monai_over_ours"):
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        medians_by_name[name] = None
        if values:
            medians_by_name[name] = median(values)
    return medians_by_name


def _times(path: Path, repeats: int) -> SlicingTime:
    stack = slice_volume(path)
    volume = read(path)
    shape = volume.voxels.shape
    has_frames = any(note.startswith("frame ") for note in volume.notes)
    floor = None
    if not has_frames:
        floor = _floor(path, shape, len(stack.pixels))
    floor_note = "no floor: several frames or files, or an unusual packing"
    monai, monai_note = _monai(path, stack)
    unpack, resize = floor or (None, None)
    ways = {"ours": partial(slice_volume, path), "monai": monai, "unpack": unpack, "resize": resize}
    clocks = {name: partial(seconds_of, way) for name, way in ways.items() if way is not None}
    time_in_turn(clocks, 1)  # fills caches, and MONAI's lazy imports
    turns = time_in_turn(clocks, repeats)
    if floor:
        turns["floor"] = turns["unpack"] + turns["resize"]
    ms = {name: 1e3 * float(np.median(seconds)) for name, seconds in turns.items()}

    def ratio(numerator: str, denominator: str) -> float | None:
        if not {numerator, denominator} <= turns.keys():
            return None
        return float(np.median(turns[numerator] / turns[denominator]))

    note = "; ".join(
        reason for reason, way in ((floor_note, floor), (monai_note, monai)) if way is None
    )
    return SlicingTime(
        str(path),
        " × ".join(map(str, shape)),
        len(stack.pixels),
        ms["ours"],
        ms.get("monai"),
        ms.get("unpack"),
        ms.get("floor"),
        ratio("ours", "floor"),
        ratio("monai", "ours"),
        note,
    )


def _floor(
    path: Path, shape: tuple[int, ...], slices: int
) -> tuple[Callable[[], None], Callable[[], None]] | None:
    """Two functions: one unpacks the file, the other resizes its voxels by area averaging.  None
    where the file does not end with its voxels."""
    import torch

    # a series in a folder or archive is no single file
    if not path.is_file():
        return None
    voxels = int(np.prod(shape))
    data = _unpack(path)
    dtype = STORED.get(len(data) // voxels)
    if dtype is None or len(data) - voxels * np.dtype(dtype).itemsize > voxels // 2:
        return None

    def unpack() -> None:
        nonlocal data
        data = _unpack(path)

    def resize() -> None:
        start = len(data) - voxels * np.dtype(dtype).itemsize
        stored = np.frombuffer(data, dtype, voxels, start).reshape(shape[::-1])
        grid = torch.from_numpy(stored.astype(np.float32))[None, None]
        torch.nn.functional.interpolate(
            grid, size=(slices, SIDE_PIXELS, SIDE_PIXELS), mode="area"
        ).to(torch.uint8)

    return unpack, resize


def _unpack(path: Path) -> bytes:
    """All bytes of a file, unpacked; of an NRRD those after its header."""
    with open_unpacked(path) as file:
        data: bytes = file.read()
    if not data.startswith(b"NRRD"):
        return data
    voxel_bytes = data[data.find(b"\n\n") + 2 :]
    if voxel_bytes.startswith(GZIP_MAGIC):
        return bytes(isal_zlib.decompress(voxel_bytes, wbits=31))
    return voxel_bytes


def _monai(path: Path, stack: SliceStack) -> tuple[Callable[[], Any] | None, str]:
    """(MONAI's chain on the file, or None; why not).  In-plane spacing is left to Resize: one
    resampling less than Spacing to both."""
    if not is_monai_installed():
        return None, "MONAI is not installed"
    apart_mm = float(stack.vox_to_ras[2, 2])
    if len(stack.z_mm) > 1:
        apart_mm = float(np.diff(stack.z_mm).mean())

    def chain() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _transforms(apart_mm, len(stack.pixels))(str(path))

    try:
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # noqa: PTH123
            chain()
    except Exception as fault:  # of many kinds, where MONAI has no reader for a format
        return None, f"MONAI cannot read it ({type(fault).__name__})"
    return chain, ""


def _transforms(apart_mm: float, slices: int) -> Any:
    from monai.transforms.compose import Compose
    from monai.transforms.io.array import LoadImage
    from monai.transforms.spatial.array import Orientation, Resize, Spacing
    from monai.transforms.utility.array import EnsureChannelFirst

    return Compose(
        [
            LoadImage(image_only=True),
            EnsureChannelFirst(),
            Orientation(axcodes="RAS", labels=None),
            Spacing(pixdim=(-1.0, -1.0, apart_mm)),
            Resize(spatial_size=(SIDE_PIXELS, SIDE_PIXELS, slices)),
        ]
    )


@app.command()
def time_slicing(
    paths: Annotated[list[Path], PathArgument(help="Volumes, or folders that hold some.")],
    out_file: Annotated[
        Path, file_out(table_of(__name__), "A TSV file for the times of every file.")
    ],
    repeats: Annotated[
        int, typer.Option(min=1, help="Repeats of each way; medians are reported.")
    ] = 5,
) -> None:
    """Measure slicing: milliseconds per file, compared with MONAI's transforms and with plain
    unpacking plus one resize."""
    with progress_bar("slicing") as advance:
        rows = list(slicing_times(find_volumes(paths).volume_paths, repeats, advance))
    sliced_rows = [row for row in rows if row.ours_ms is not None]
    if not sliced_rows:
        raise VolumeError("slice-nothing", f"none of {len(rows)} could be cut: {first_notes(rows)}")
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    table = empty_table(
        f"slicing, one thread, median of {repeats}",
        *("file", "slices", "ms", "MONAI", "unpacking", "floor", "MONAI / ms", "ms / floor"),
    )
    for row in sliced_rows:
        times = number_cells(",.0f", row.ours_ms, row.monai_ms, row.unpack_ms, row.floor_ms)
        ratios = number_cells(".2f", row.monai_over_ours, row.over_floor)
        table.add_row(Path(row.path).name, str(row.slices), *times, *ratios)
    middle = medians(rows)
    ratios = number_cells(".2f", middle["monai_over_ours"], middle["over_floor"])
    table.add_row("median", *[""] * 5, *ratios)
    show_table(table)
    out.print("milliseconds; floor: unpacking and one resize")
    for row in rows:
        if row.note and row.ours_ms is None:
            out.print(row.note)
        elif row.note:
            out.print(f"{Path(row.path).name}: {row.note}")
    out.print(f"{out_file}")
    if len(sliced_rows) < len(rows):
        raise typer.Exit(3)


if __name__ == "__main__":
    main(app)
