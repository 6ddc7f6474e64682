"""Takes out of a virtual environment what no program there needs: pip, tests, and libraries that lie there twice.

python3 shrink.py /opt/fovnet
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

UNUSED_PATTERNS = (
    "pip",
    "pip-*",
    "setuptools*",
    "pkg_resources",
    "_distutils_hack",
    "distutils-precedence.pth",
    "*/**/tests",
    "**/__pycache__",
    # the module of Python has a copy within
    "onnxruntime/capi/libonnxruntime.so*",
    "onnxruntime/transformers",
)


def shrink(environment: Path) -> None:
    """Removes what is unused, and links equal libraries, which a wheel cannot hold as links."""
    (packages,) = environment.glob("lib/python3*/site-packages")
    for pattern in UNUSED_PATTERNS:
        for path in list(packages.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    library_by_digest: dict[str, Path] = {}
    for library in sorted(packages.glob("**/*.so*")):
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        earlier = library_by_digest.setdefault(digest, library)
        if earlier is not library and earlier.parent == library.parent:
            library.unlink()
            library.symlink_to(earlier.name)


if __name__ == "__main__":
    shrink(Path(sys.argv[1]))
