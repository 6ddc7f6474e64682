"""Mutated files: whatever becomes of their bytes, the answer is a Volume or a VolumeError.

Every input is made from its own number, so a finding can be made again: FOVNET_FUZZ=20000 runs that many (400
otherwise), FOVNET_FUZZ_FROM=137 begins with number 137.
"""

from __future__ import annotations

import gzip
import os
import random
import struct
import sys
import warnings
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume import grid
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import source_of

FIRST = int(os.environ.get("FOVNET_FUZZ_FROM", "0"))
COUNT = int(os.environ.get("FOVNET_FUZZ", "400"))
SURPRISES = (0, 1, -1, 2**7 - 1, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**62, -(2**63))
WORDS = (
    b"0",
    b"-1",
    b"nan",
    b"inf",
    b"1e308",
    b"99999999999999999999",
    b"",
    b"none",
    b"True",
    b"LIST",
    b"LOCAL",
    b"../x",
    b"%d",
    b"(",
    b"\xff",
    b"MET_DOUBLE",
    b"raw",
    b"gzip",
    b"int64",
    b":=",
    b"\n\n",
    b"4",
    b"scanner-xyz",
)


def seeds(made, at: Path) -> list[tuple[str, bytes]]:
    """(suffix, bytes) of a sound file in each format and way of packing, small so that most bytes matter."""
    body = made.body(shape=(6, 7, 5))
    pair = made.nifti(at / "pair.hdr", body, kind=nibabel.Nifti1Pair)
    assert pair.exists()
    files = [
        made.nifti(at / "a.nii", body),
        made.nifti(at / "b.nii", body, ">f4"),
        made.nifti(at / "c.nii.gz", body),
        made.nifti(at / "d.nii", body, "<i8", nibabel.Nifti2Image),
        made.nifti(at / "e.nii", body, ">u2", nibabel.Nifti2Image),
        pair,
        made.nrrd(at / "a.nrrd", body),
        made.nrrd(at / "b.nrrd", body, ">f8", encoding="raw"),
        made.nrrd(at / "c.nhdr", body, encoding="raw", data="pair.img"),
        made.metaimage(at / "a.mha", body),
        made.metaimage(at / "b.mha", body, packed=True),
        made.metaimage(at / "c.mhd", body, data="pair.img"),
        made.mgh(at / "a.mgh", body),
        made.mgh(at / "b.mgz", body, ">f4"),
        made.gipl(at / "a.gipl", body),
        made.gipl(at / "b.gipl.gz", body),
        made.analyze(at / "spm.hdr", body),
        at / "spm.mat",
    ]
    return [(path.name, path.read_bytes()) for path in files]


def mutated(data: bytes, draw: random.Random) -> bytes:
    """The bytes with one to six changes; half the time inside gzip, if they are packed."""
    if data.startswith(b"\x1f\x8b") and draw.random() < 0.5:
        return gzip.compress(mutated(gzip.decompress(data), draw), 1)
    changed = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(min(len(changed), draw.choice((60, 360, 700, 10**6)))) if changed else 0
        draw.choice((_bits, _number, _float, _cut, _insert, _repeat, _word))(changed, at, draw)
    return bytes(changed)


def _bits(data: bytearray, at: int, draw: random.Random) -> None:
    data[at : at + 1] = bytes([data[at] ^ 1 << draw.randrange(8)]) if data else b"x"


def _number(data: bytearray, at: int, draw: random.Random) -> None:
    size = draw.choice((1, 2, 4, 8))
    value = draw.choice(SURPRISES) & (256**size - 1)
    data[at : at + size] = value.to_bytes(size, draw.choice(("little", "big")))


def _float(data: bytearray, at: int, draw: random.Random) -> None:
    value = draw.choice((0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), 0.5))
    data[at : at + 4] = struct.pack(draw.choice("<>") + "f", value)


def _cut(data: bytearray, at: int, draw: random.Random) -> None:
    del data[at : at + draw.choice((1, 4, 100, 10**9))]


def _insert(data: bytearray, at: int, draw: random.Random) -> None:
    data[at:at] = draw.randbytes(draw.choice((1, 4, 300)))


def _repeat(data: bytearray, at: int, draw: random.Random) -> None:
    data[at:at] = data[at : at + draw.choice((2, 40, 400))]


def _word(data: bytearray, at: int, draw: random.Random) -> None:
    """A value of a text header replaced: what stands between a colon or an equals sign and the end of the
    line."""
    ends = [
        end for end in range(at, min(len(data), at + 400)) if data[end : end + 1] in (b":", b"=")
    ]
    if ends:
        stop = data.find(b"\n", ends[0])
        data[ends[0] + 1 : stop if stop >= 0 else None] = b" " + draw.choice(WORDS)


@pytest.mark.slow
def test_a_mutated_file_is_a_volume_or_a_refusal(tmp_path, made, monkeypatch):
    monkeypatch.setattr(grid, "MAX_FRAME_BYTES", 800_000)
    sound = seeds(made, tmp_path)
    codes: dict[str, int] = {}
    for number in range(FIRST, FIRST + COUNT):
        draw = random.Random(number)
        name, data = draw.choice(sound)
        path = tmp_path / name
        path.write_bytes(mutated(data, draw))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                stack = slice_volume(path.with_name("spm.hdr") if name == "spm.mat" else path)
            assert (
                stack.pixels.shape == (len(stack.z_mm), 128, 128) and np.isfinite(stack.z_mm).all()
            )
            assert (np.diff(stack.z_mm) > 0).all() and np.isfinite(stack.vox_to_ras).all()
            code = "read"
        except VolumeError as refusal:
            assert refusal.code.startswith("volume-") and "\n" not in refusal.sentence
            code = refusal.code
        except BaseException as fault:
            raise AssertionError(
                f"input {number} ({name}): {fault!r}; alone: FOVNET_FUZZ_FROM={number} FOVNET_FUZZ=1"
            ) from fault
        finally:
            path.write_bytes(data)
        codes[code] = codes.get(code, 0) + 1
    sys.stdout.write(f"{COUNT} inputs from number {FIRST}: {codes}\n")  # seen with -s
    assert (
        COUNT < 300
        or {"read", "volume-corrupt", "volume-truncated", "volume-geometry"} <= codes.keys()
    )


def test_a_file_is_found_again_after_the_mutation(tmp_path, made):
    """The sound files are read, so that a refusal above is the mutation's doing."""
    for name, _ in seeds(made, tmp_path):
        if not name.endswith(".mat"):
            assert slice_volume(tmp_path / name).checksum == source_of(tmp_path / name).checksum
