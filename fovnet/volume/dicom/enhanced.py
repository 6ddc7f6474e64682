"""The frames of an enhanced multi-frame object: shared and per-frame attributes.

Private groups are ignored: some vendors repeat positions there in another frame of reference.
Source: DICOM PS3.3, C.7.6.16 (multi-frame functional groups), C.8.13.5 (enhanced MR).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import (
    Frame,
    ObjectFacts,
    getter,
    make_frame,
    values_of,
    whole_number,
)
from fovnet.volume.dicom.source import Item
from fovnet.volume.dicom.value_types import restore_types

GROUPS = (
    # attributes that a conversion from a classic series could not assign to a group; later groups take
    # precedence
    "UnassignedSharedConvertedAttributesSequence",
    "UnassignedPerFrameConvertedAttributesSequence",
    "PlanePositionSequence",
    "PlaneOrientationSequence",
    "PixelMeasuresSequence",
    "PixelValueTransformationSequence",
    "FrameContentSequence",
    "MRImageFrameTypeSequence",
    "MREchoSequence",
    "MRDiffusionSequence",
    "MRModifierSequence",
    "MRTimingAndRelatedParametersSequence",
    "CardiacSynchronizationSequence",
    "TemporalPositionSequence",
)
NESTED_GROUPS = ("DiffusionGradientDirectionSequence",)  # nested in a group, with one item as well
OBJECT_KEYWORDS = (
    "SOPInstanceUID",
    "SOPClassUID",
    "Rows",
    "Columns",
    "ImageType",
    "InstanceNumber",
    "ComplexImageComponent",
)
CLASSIC_KEYWORDS = {  # enhanced keyword to the classic keyword of the same attribute
    "EffectiveEchoTime": "EchoTime",
    "TemporalPositionIndex": "TemporalPositionIdentifier",
    "FrameAcquisitionNumber": "AcquisitionNumber",
    "NominalCardiacTriggerDelayTime": "TriggerTime",
    "InversionTimes": "InversionTime",
    "FrameAcquisitionDateTime": "AcquisitionTime",
    "TemporalPositionTimeOffset": "ContentTime",
}


def enhanced_frames(item: Item, dataset: Any, facts: ObjectFacts) -> list[Frame]:
    """A Frame for each frame of the object.  Raises VolumeError if NumberOfFrames is not the number of
    functional groups."""
    each = dataset.PerFrameFunctionalGroupsSequence
    declared = whole_number(getter(dataset)("NumberOfFrames")) or 1
    if len(each) != declared:
        raise VolumeError(
            "volume-corrupt",
            f"{item}: {declared} frames, and functional groups for {len(each)}. Export it again.",
        )
    shared = values_of(dataset.get("SharedFunctionalGroupsSequence"))
    common = _flatten_groups(shared[0]) if shared else {}
    top = {key: value for key in OBJECT_KEYWORDS if (value := getter(dataset)(key)) is not None}
    frames = []
    for number, groups in enumerate(each, start=1):
        frame = make_frame(item, facts, getter(_flatten_groups(groups), common, top), number)
        frames.append(replace(frame, instance=number))
    return frames


def _flatten_groups(groups: Any) -> dict[str, Any]:
    """The elements of the first item of each functional group, and of sequences nested in it, by keyword;
    later groups take precedence."""
    found: dict[str, Any] = {}
    items = [sequence[0] for name in GROUPS if (sequence := groups.get(name))]
    for item in items + [
        sequence[0] for one in items for name in NESTED_GROUPS if (sequence := one.get(name))
    ]:
        restore_types(item)
        get = getter(item)
        for key in (element.keyword for element in item):
            if key and (value := get(key)) is not None:
                found[CLASSIC_KEYWORDS.get(key, key)] = value
    return found
