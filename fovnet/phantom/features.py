"""What the simulated bodies vary beyond a plain one, by name: each can be left out, to measure what it is worth.

A body built `without` a feature is the same person in everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ANATOMY: Mapping[str, str] = MappingProxyType(
    {
        "deformation": "Organs and outlines are bent smoothly at every scale from 4 to 15 cm, so that no two bodies are alike.",
        "joints and organs": "Ligaments, menisci, prostate zones, papillary muscles, disc nuclei and the other parts of 1 to 10 mm.",
        "tissue structure": "Muscle has septa and streaks of fat, fat has fasciae and vessels, a breast has strands of gland.",
        "varied bodies": "Children, the very obese, wasted muscle, prone women, one kidney, no uterus, metal hips, implants.",
    }
)
"""The features of the anatomy, name to what it adds."""
