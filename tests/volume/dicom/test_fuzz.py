"""DICOM bytes changed at random give a volume or a refusal, and nothing else.

FOVNET_FUZZ=20000 tries so many instead of a few hundred; a failing seed is in the message, and repeats alone.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume import grid
from fovnet.volume.slices.stack import slice_volume

ROUNDS = int(os.environ.get("FOVNET_FUZZ", "360"))
KINDS = ("classic", "enhanced", "mosaic", "RLE", "deflated", "zip")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """One to eight changes: a byte, a bit, a run of zeros, a piece cut out, doubled or moved, a length made
    huge, the end cut off."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        # half of the changes in the first kilobytes, where the header is
        at = int(rng.integers(0, len(changed) if rng.random() < 0.5 else min(len(changed), 2500)))
        kind, length = rng.integers(0, 8), int(rng.integers(1, 40))
        if kind == 0:
            changed[at] = rng.integers(0, 256)
        elif kind == 1:
            changed[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2:
            changed[at : at + length] = bytes(length)
        elif kind == 3:
            del changed[at : at + length]
        elif kind == 4:
            changed[at:at] = changed[at : at + length]
        elif kind == 5:
            changed[at : at + 4] = (
                b"\xff\xff\xff\xff" if rng.random() < 0.5 else b"\xff\xff\xff\x7f"
            )
        elif kind == 6:
            changed[at : at + length] = rng.bytes(length)
        elif rng.random() < 0.2:
            del changed[at:]
        if not changed:
            return b""
    return bytes(changed)


@pytest.fixture(scope="module")
def whole(write, tmp_path_factory):
    """A small sound object of each kind, and the name to give it."""
    folder, voxels = tmp_path_factory.mktemp("sound"), write.noise((12, 14, 5), np.uint16)
    places = [write.geometry(write.AFFINE, k) for k in range(5)]
    objects = {
        "classic": write.images(voxels)[2],
        "enhanced": write.enhanced(voxels.transpose(2, 1, 0), places),
        "mosaic": write.mosaic(voxels),
        "RLE": write.enhanced(voxels.transpose(2, 1, 0), places),
        "deflated": write.enhanced(voxels.transpose(2, 1, 0), places),
    }
    objects["deflated"].file_meta.TransferSyntaxUID = "1.2.840.10008.1.2.1.99"
    sound = {}
    for kind, one in objects.items():
        one.save_as(folder / f"{kind}.dcm", enforce_file_format=True)
        if kind == "RLE":
            write.compressed(folder / "RLE.dcm", "1.2.840.10008.1.2.5")
        sound[kind] = (folder / f"{kind}.dcm").read_bytes()
    series = write.save(folder / "series", write.images(voxels))
    return sound | {"zip": write.zipped(folder / "series.zip", series).read_bytes()}


def test_no_change_of_bytes_leads_to_anything_but_a_volume_or_a_refusal(
    tmp_path, write, whole, monkeypatch
):
    monkeypatch.setattr(grid, "MAX_FRAME_BYTES", 4 * 10**6)
    neighbours = write.images(write.noise((12, 14, 5), np.uint16))
    for seed in range(ROUNDS):
        kind = KINDS[seed % len(KINDS)]
        path = tmp_path / ("series.zip" if kind == "zip" else "im002.dcm")
        if kind == "classic" and not (tmp_path / "im000.dcm").exists():
            write.save(tmp_path, neighbours)
        path.write_bytes(mutated(whole[kind], np.random.default_rng(seed)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                stack = slice_volume(tmp_path if kind == "classic" else path)
        except VolumeError as refusal:
            assert refusal.code.startswith("volume-") and refusal.sentence, seed
        except Exception as fault:
            raise AssertionError(f"seed {seed} ({kind}): {fault!r}") from fault
        else:
            assert np.isfinite(stack.z_mm).all() and stack.pixels.shape == (
                len(stack.z_mm),
                128,
                128,
            ), seed


@pytest.mark.parametrize("seed", [685, 0, 1, 2])
def test_damaged_jpeg_is_refused_even_where_the_decoder_dies(tmp_path, write, seed):
    """Seed 685 makes GDCM 3.2.6 end its process; in the others libjpeg fills in grey, or fails in its own
    way."""
    places, voxels = (
        [write.geometry(write.AFFINE, k) for k in range(5)],
        write.noise((32, 36, 5), np.uint16),
    )
    path = write.save(tmp_path, [write.enhanced(voxels.transpose(2, 1, 0), places)]) / "im000.dcm"
    write.compressed(path, "1.2.840.10008.1.2.4.70")
    data = path.read_bytes()
    begin = data.rfind(b"\xe0\x7f\x10\x00") + 12
    path.write_bytes(data[:begin] + mutated(data[begin:], np.random.default_rng(seed + 10**6)))
    with pytest.raises(VolumeError) as refusal:
        slice_volume(path)
    assert refusal.value.code in ("volume-corrupt", "volume-truncated")
