#!/bin/bash
# nibabel 5.4.2 imports pydicom 3.0.2 with all its decoders, and so python-gdcm 3.2.6, where they are installed, whatever is read: a
# program that reads NIfTI alone pays for a DICOM library, here a third of the CPU of the import.
# Guess before: `import nibabel` brings numpy and its own modules; DICOM is imported where DICOM is read.
# Exits 1 if a NIfTI is written and read without pydicom.
set -eu
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install "nibabel==${NIBABEL:-5.4.2}" numpy==2.2.6 pydicom==3.0.2 python-gdcm==3.2.6
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import subprocess, sys
from statistics import median

PROGRAM = """
import sys, time
if {hidden}:
    sys.modules["pydicom"] = None        # as if it were not installed
start_s = time.process_time()
import nibabel
import_s = time.process_time() - start_s
import numpy as np
nibabel.save(nibabel.Nifti1Image(np.ones((4, 4, 4), np.int16), np.eye(4)), "ones.nii")
assert nibabel.load("ones.nii").shape == (4, 4, 4)
brought = [name for name in ("pydicom.pixels.decoders", "gdcm") if name in sys.modules]
print(import_s, nibabel.__version__, ",".join(brought) or "nothing")
"""

def run(hidden):
    lines = [subprocess.run([sys.executable, "-c", PROGRAM.format(hidden=hidden)], capture_output=True, text=True, check=True)
             .stdout.split() for _ in range(6)]
    return median(float(line[0]) for line in lines[1:]), *lines[-1][1:]

import_s, version, brought = run(False)
bare_s, _, bare = run(True)
print(f"nibabel {version}: reading a NIfTI brings {brought}; CPU of the import {import_s:.2f} s, without pydicom {bare_s:.2f} s ({bare})")
sys.exit("gdcm" not in brought or bare != "nothing")
PYTHON
