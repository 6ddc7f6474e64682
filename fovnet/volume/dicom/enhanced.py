"""The frames of an enhanced multi-frame object: shared and per-frame attributes.

Private groups are ignored: some vendors repeat positions there in another frame of reference.
Source: DICOM PS3.3, C.7.6.16 (multi-frame functional groups), C.8.13.5 (enhanced MR).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import (
    Frame,
    ObjectFacts,
    as_values,
    as_whole_number,
    make_frame,
    make_lookup,
)
from fovnet.volume.dicom.source import DicomObject
from fovnet.volume.dicom.value_types import restore_types

GROUP_KEYWORDS = (
    # attributes that a conversion from a classic series could not assign to a group; later groups
    # take precedence
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
NESTED_GROUP_KEYWORDS = (
    "DiffusionGradientDirectionSequence",
)  # nested in a group, with one item as well
OBJECT_KEYWORDS = (
    "SOPInstanceUID",
    "SOPClassUID",
    "Rows",
    "Columns",
    "ImageType",
    "InstanceNumber",
    "ComplexImageComponent",
)
CLASSIC_KEYWORD_BY_ENHANCED = {  # enhanced keyword to the classic keyword of the same attribute
    "EffectiveEchoTime": "EchoTime",
    "TemporalPositionIndex": "TemporalPositionIdentifier",
    "FrameAcquisitionNumber": "AcquisitionNumber",
    "NominalCardiacTriggerDelayTime": "TriggerTime",
    "InversionTimes": "InversionTime",
    "FrameAcquisitionDateTime": "AcquisitionTime",
    "TemporalPositionTimeOffset": "ContentTime",
}


def make_enhanced_frames(
    dicom_object: DicomObject, dataset: Any, facts: ObjectFacts
) -> list[Frame]:
    """A Frame for each frame of the object.  Raises VolumeError if NumberOfFrames is not the number
    of functional groups."""
    groups_by_frame = dataset.PerFrameFunctionalGroupsSequence
    declared_count = as_whole_number(make_lookup(dataset)("NumberOfFrames")) or 1
    if len(groups_by_frame) != declared_count:
        raise VolumeError(
            "volume-corrupt",
            f"{dicom_object}: {declared_count} frames, and functional groups for "
            f"{len(groups_by_frame)}. Export it again.",
        )
    shared_groups = as_values(dataset.get("SharedFunctionalGroupsSequence"))
    shared_values: dict[str, Any] = {}
    if shared_groups:
        shared_values = _flatten_groups(shared_groups[0])
    get = make_lookup(dataset)
    object_values = {
        keyword: value for keyword in OBJECT_KEYWORDS if (value := get(keyword)) is not None
    }
    frames = []
    for frame_number, functional_groups in enumerate(groups_by_frame, start=1):
        get = make_lookup(_flatten_groups(functional_groups), shared_values, object_values)
        frame = make_frame(dicom_object, facts, get, frame_number)
        frames.append(replace(frame, image_number=frame_number))
    return frames


def _flatten_groups(functional_groups: Any) -> dict[str, Any]:
    """The elements of the first item of each functional group, and of sequences nested in it, by
    keyword; later groups take precedence."""
    value_by_keyword: dict[str, Any] = {}
    first_items = _first_items(functional_groups, GROUP_KEYWORDS)
    nested_items = [
        nested_item
        for item in first_items
        for nested_item in _first_items(item, NESTED_GROUP_KEYWORDS)
    ]
    for item in first_items + nested_items:
        restore_types(item)
        get = make_lookup(item)
        for keyword in (element.keyword for element in item):
            if keyword and (value := get(keyword)) is not None:
                value_by_keyword[CLASSIC_KEYWORD_BY_ENHANCED.get(keyword, keyword)] = value
    return value_by_keyword


def _first_items(groups: Any, keywords: Sequence[str]) -> list[Any]:
    return [sequence[0] for keyword in keywords if (sequence := groups.get(keyword))]
