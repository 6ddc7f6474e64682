#!/bin/bash
# pydicom 3.0.2 says that High-Throughput JPEG 2000 has no decoder where python-gdcm 3.2.6 is installed, which decodes it bit
# for bit: its GDCM plugin lists the syntaxes of older GDCM.  A plugin of one's own (Decoder.add_plugin) routes it there.
# Guess before: what the installed GDCM decodes, pydicom decodes.  Exits 1 if pydicom decodes it, or GDCM does not.
set -eu
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install "pydicom==${PYDICOM:-3.0.2}" python-gdcm==3.2.6 numpy==2.2.6 imagecodecs==2026.3.6 ${MORE:-}
"$work/venv/bin/python" - <<'PYTHON'
import gdcm, imagecodecs, numpy as np, pydicom, sys
from pydicom.pixels import get_decoder
from pydicom.uid import HTJ2KLossless

rows, columns = np.indices((24, 20))
image = np.round((1 + np.sin(rows / 4) * np.cos(columns / 3)) * 2047).astype(np.uint16)
encoded = imagecodecs.htj2k_encode(image, reversible=True)
fragments, fragment = gdcm.SequenceOfFragments.New(), gdcm.Fragment()
fragment.SetByteStringValue(encoded)
fragments.AddFragment(fragment)
element = gdcm.DataElement(gdcm.Tag(0x7FE0, 0x0010))
element.SetValue(fragments.__ref__())
picture = gdcm.Image()
picture.SetNumberOfDimensions(2)
picture.SetDimensions((20, 24, 1))
picture.SetDataElement(element)
picture.SetPhotometricInterpretation(gdcm.PhotometricInterpretation(gdcm.PhotometricInterpretation.MONOCHROME2))
picture.SetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.HTJ2KLossless))
picture.SetPixelFormat(gdcm.PixelFormat(1, 16, 16, 15, 0))
decoded = np.frombuffer(picture.GetBuffer().encode("utf-8", "surrogateescape"), np.uint16).reshape(24, 20)
same, available = bool((decoded == image).all()), get_decoder(HTJ2KLossless).is_available
print(f"pydicom {pydicom.__version__}, GDCM {gdcm.Version.GetVersion()}: decoder for {HTJ2KLossless.name} "
      f"in pydicom: {available}; GDCM's pixels are the encoded ones: {same}")
sys.exit(available or not same)
PYTHON
