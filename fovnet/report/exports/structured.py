"""An answer as a DICOM Comprehensive 3D SR: an Imaging Measurement Report with one measurement
group per span, of parts of a region where these are sure.

Each group has the region as finding and finding site (SNOMED CT, see regions.py), the span's length
and probability, the heights of its two ends in scanner coordinates, and references to the source
images that the span was cut from. Of an answer given region by region, only the regions that are
surely shown have such groups. An unsure one has a group without heights, whose Certainty of Finding
is "Possible"; one that is surely not shown has none. Source: DICOM PS3.16, TID 1500 (report), TID
1501 (measurements and qualitative evaluations), TID 4019 (algorithm), annex D (Certainty of
Finding).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

from highdicom.sr import (
    AlgorithmIdentification,
    CodedConcept,
    Comprehensive3DSR,
    DeviceObserverIdentifyingAttributes,
    FindingSite,
    Measurement,
    MeasurementReport,
    MeasurementsAndQualitativeEvaluations,
    ObservationContext,
    ObserverContext,
    QualitativeEvaluation,
    SourceImageForMeasurementGroup,
    TrackingIdentifier,
)
from pydicom import dcmread
from pydicom.sr.codedict import codes

from fovnet.decision.statements import Statement
from fovnet.errors import ModelError
from fovnet.evaluate.cases import StoredSpan
from fovnet.records import clear_unfinished, replace_with
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer, finest_level
from fovnet.report.exports.dicom_ownership import (
    is_our_dicom,
    refuse_foreign,
    refuse_other_series,
    withdraw_files,
)
from fovnet.report.exports.identity import content_of, device_uid_for, uid_for
from fovnet.report.exports.inherited import MAY_BE_EMPTY, clean_header
from fovnet.report.exports.originals import (
    UTF_8,
    Original,
    ignore_note,
    image_keys,
    narrow_originals,
    originals_of,
    refuse_unreferable,
    translate_header_faults,
)

# of concepts without a standard code: the two ends of a span, and that no region is shown
SCHEME = "99FOVNET"
REGIONS_SHOWN_CODE = CodedConcept("regions", SCHEME, "Body regions shown")
NO_REGION_CODE = CodedConcept("none", SCHEME, "None of the regions")
LOWER_END_CODE = CodedConcept("lower-end", SCHEME, "Height of the lower end, scanner coordinates")
UPPER_END_CODE = CodedConcept("upper-end", SCHEME, "Height of the upper end, scanner coordinates")
POSSIBLE_CODE = CodedConcept("371930009", "SCT", "Possible")
MRI_CODE = CodedConcept("113091000", "SCT", "Magnetic resonance imaging")
TIME_ATTRIBUTES = ("ContentDate", "ContentTime", "InstanceCreationDate", "InstanceCreationTime")
EXCLUDED_ATTRIBUTES = ("SOPInstanceUID", "SeriesInstanceUID", *TIME_ATTRIBUTES)
"""What is not part of a report's UIDs: these themselves, and when it was written, which differs
each time."""
LONGEST_PARAMETER = 1024  # letters kept of a parameter of the algorithm
LONGEST_NAME = 64  # letters kept of the name of a group
SERIES_NUMBER = 9000  # above the numbers that scanners use
TEMPORARY_UID = uid_for("unidentified")  # until all content is there


def build_report(
    answer: StoredAnswer, vocabulary: Vocabulary, tell_user: Callable[[str], None] = ignore_note
) -> Comprehensive3DSR:
    """The SR of an answer, in its source's study; its UIDs are those of all that it says, so that
    the same content has the same ones, and no other content.  Its character set is UTF-8.

    Where a region or the extents are not sure, its Completion Flag is PARTIAL, and the reason is
    the first of the algorithm's parameters; an uncertain answer without statements has the groups
    of its best guess. `tell_user` is told which attributes of the source have values that are not
    valid, and were left out.  Raises ModelError as `originals_of` and `refuse_unreferable`, and
    "export-no-code" for a region without a code.
    """
    sources = originals_of(answer)
    refuse_unreferable(answer, sources)
    emptied_names = clean_header(sources[0].header)
    measurement_report = MeasurementReport(
        _observation_context(answer),
        procedure_reported=MRI_CODE,
        imaging_measurements=_measurement_groups(answer, vocabulary, sources),
        title=codes.DCM.ImagingMeasurementReport,
    )
    _mark_separate(measurement_report[0])
    unsure_part = _unsure_part_in_words(answer)
    series_description = "fovnet: body regions"
    if unsure_part:
        series_description += f" ({unsure_part})"
    report = Comprehensive3DSR(
        [source.header for source in sources],
        measurement_report[0],
        series_instance_uid=TEMPORARY_UID,
        series_number=SERIES_NUMBER,
        sop_instance_uid=TEMPORARY_UID,
        specific_character_set=UTF_8,
        instance_number=1,
        manufacturer="fovnet",
        is_complete=not unsure_part,
        is_final=False,
        is_verified=False,
        series_description=series_description,
    )
    for attribute_name in emptied_names:
        if attribute_name in report:  # other modules' attributes are not copied
            tell_user(f"without a valid {attribute_name}, which the report leaves out")
            if not report[attribute_name].value and attribute_name not in MAY_BE_EMPTY:
                del report[attribute_name]
    _set_uids_of_content(report)
    return report


def _mark_separate(content: Any) -> None:
    """Marks all containers of a content tree as SEPARATE: DCMTK's dsr2html drops the names of items
    in those that are CONTINUOUS, as highdicom writes them (PS3.3, C.18.8)."""
    if content.get("ContinuityOfContent"):
        content.ContinuityOfContent = "SEPARATE"
    for content_item in content.get("ContentSequence", []):
        _mark_separate(content_item)


def _set_uids_of_content(report: Any) -> None:
    """Gives a report the UIDs of its content.

    The time in Contributing Equipment is removed: it is that of Instance Creation, and optional.
    """
    for equipment in report.ContributingEquipmentSequence:
        equipment.pop("ContributionDateTime", None)
    content = content_of(report, EXCLUDED_ATTRIBUTES)
    report.SeriesInstanceUID = uid_for("sr-series", content)
    report.SOPInstanceUID = uid_for("sr", content)
    report.file_meta.MediaStorageSOPInstanceUID = report.SOPInstanceUID


def _observation_context(answer: StoredAnswer) -> Any:
    """The observation context: fovnet as a device, with its ensemble as model."""
    device = DeviceObserverIdentifyingAttributes(
        device_uid_for(answer.model_identity),
        name="fovnet",
        manufacturer_name="fovnet",
        model_name=answer.model_identity,
    )
    return ObservationContext(observer_device_context=ObserverContext(codes.DCM.Device, device))


def _measurement_groups(
    answer: StoredAnswer, vocabulary: Vocabulary, sources: Sequence[Original]
) -> list[MeasurementsAndQualitativeEvaluations]:
    """The groups of what is shown, parts in the place of regions that they surely fill, then of the
    regions that may be shown; at least one, as the standard asks for."""
    finest_answer, finest_vocabulary = finest_level(answer, vocabulary)
    algorithm_identification = AlgorithmIdentification(
        # dcmqi keeps the first parameter alone
        "fovnet",
        answer.fovnet_version,
        parameters=(*_caution_parameters(answer), f"ensemble {answer.model_identity}"),
    )
    measurement_groups = [
        _span_group(
            finest_answer, span_number, span, finest_vocabulary, sources, algorithm_identification
        )
        for span_number, span in enumerate(finest_answer.shown_spans, start=1)
    ]
    measurement_groups += [
        _possible_group(answer, statement, vocabulary, sources, algorithm_identification)
        for statement in answer.statements
        if not statement.is_sure
    ]
    return measurement_groups or [_empty_group(answer, sources, algorithm_identification)]


def _span_group(
    answer: StoredAnswer,
    span_number: int,
    span: StoredSpan,
    vocabulary: Vocabulary,
    sources: Sequence[Original],
    algorithm: Any,
) -> MeasurementsAndQualitativeEvaluations:
    """The measurement group of one span, found by this algorithm."""
    millimetre = codes.UCUM.Millimeter
    no_units = codes.UCUM.NoUnits
    identity = ("span", *answer.identity(), span_number, *image_keys(sources))
    return MeasurementsAndQualitativeEvaluations(
        _tracking_identifier(f"span {span_number}", *identity),
        **_finding_arguments(answer, span.region, vocabulary),
        algorithm_id=algorithm,
        measurements=[
            Measurement(codes.SCT.Length, round(span.to_mm - span.from_mm, 3), millimetre),
            Measurement(LOWER_END_CODE, round(span.from_mm, 3), millimetre),
            Measurement(UPPER_END_CODE, round(span.to_mm, 3), millimetre),
            Measurement(codes.DCM.Probability, round(answer.probability(span), 4), no_units),
        ],
        source_images=_image_references(narrow_originals(sources, answer.images_of(span))),
    )


def _possible_group(
    answer: StoredAnswer,
    statement: Statement,
    vocabulary: Vocabulary,
    sources: Sequence[Original],
    algorithm: Any,
) -> MeasurementsAndQualitativeEvaluations:
    """The group of an unsure region, which may be shown: its probability, no heights; it refers
    to all images."""
    identity = ("possible", *answer.identity(), statement.region, *image_keys(sources))
    return MeasurementsAndQualitativeEvaluations(
        _tracking_identifier(f"possible {statement.region}"[:LONGEST_NAME], *identity),
        **_finding_arguments(answer, statement.region, vocabulary),
        algorithm_id=algorithm,
        measurements=[
            Measurement(codes.DCM.Probability, round(statement.probability, 4), codes.UCUM.NoUnits)
        ],
        qualitative_evaluations=[
            QualitativeEvaluation(codes.DCM.CertaintyOfFinding, POSSIBLE_CODE)
        ],
        source_images=_image_references(sources),
    )


def _empty_group(
    answer: StoredAnswer, sources: Sequence[Original], algorithm: Any
) -> MeasurementsAndQualitativeEvaluations:
    """The group of a volume that shows none of the regions; it refers to all images."""
    return MeasurementsAndQualitativeEvaluations(
        _tracking_identifier("no region", "span", *answer.identity(), 0, *image_keys(sources)),
        algorithm_id=algorithm,
        qualitative_evaluations=[QualitativeEvaluation(REGIONS_SHOWN_CODE, NO_REGION_CODE)],
        source_images=_image_references(sources),
    )


def _tracking_identifier(name: str, *identity: object) -> TrackingIdentifier:
    """The name of a group, with a UID determined by `identity`."""
    return TrackingIdentifier(uid_for(*identity), name)


def _finding_arguments(answer: StoredAnswer, region: str, vocabulary: Vocabulary) -> dict[str, Any]:
    """Keyword arguments for the region that a group is about: its category, its type and its site.
    Raises ModelError "export-no-code" if the region has no code."""
    term = vocabulary.concept(region)
    if term is None:
        raise ModelError(
            "export-no-code",
            f"{answer.volume_id}: the region {region!r} has no SNOMED CT code. Give `sct` in the "
            "regions file.",
        )
    region_code = CodedConcept(term.sct, "SCT", term.meaning)
    return {
        "finding_category": codes.SCT.AnatomicalStructure,
        "finding_type": region_code,
        "finding_sites": [FindingSite(region_code)],
    }


def _image_references(originals: Sequence[Original]) -> list[SourceImageForMeasurementGroup]:
    """References to the images that a group was made from."""
    return [
        SourceImageForMeasurementGroup(
            original.header.SOPClassUID,
            original.header.SOPInstanceUID,
            list(original.frames) or None,
        )
        for original in originals
    ]


def _copy_dates_of_same_report(path: Path, report: Any) -> None:
    """Copies the dates of an existing report with the same UID at `path`, so that a repeated export
    gives the same file."""
    if not is_our_dicom(path):
        return
    earlier_report = dcmread(path, specific_tags=["SOPInstanceUID", *TIME_ATTRIBUTES])
    if earlier_report.get("SOPInstanceUID") != report.SOPInstanceUID:
        return
    for time_attribute in TIME_ATTRIBUTES:
        if time_attribute in earlier_report:
            report[time_attribute] = earlier_report[time_attribute]


def _unsure_part_in_words(answer: StoredAnswer) -> str:
    """What of an answer is not sure, in a word or two: "partly", "uncertain", "extents unsure"; ""
    if nothing."""
    if answer.status != "ok":
        return answer.status
    if answer.statements and not answer.are_extents_sure:
        return "extents unsure"
    return ""


def _caution_parameters(answer: StoredAnswer) -> tuple[str, ...]:
    """What of an answer is not sure, and why, as parameters of the algorithm; () if nothing."""
    unsure_part = _unsure_part_in_words(answer)
    if not unsure_part:
        return ()
    return (f"{unsure_part}: {answer.message}"[:LONGEST_PARAMETER],)


def write_report(
    answer: StoredAnswer,
    vocabulary: Vocabulary,
    folder: Path,
    tell_user: Callable[[str], None] = ignore_note,
) -> Path:
    """Writes `folder/<volume_id>.dcm`; for a refused volume, the report of an earlier answer is
    removed.

    Raises as `build_report`, and ModelError "export-header" if the library rejects the source's
    header, "export-foreign" if the file there was not written by fovnet, "export-other-study" if it
    reports on other images; "export-stays" as `withdraw_files`.
    """
    path = folder / f"{answer.volume_id}.dcm"
    if answer.status == "refused":
        withdraw_files([path], answer.path)
    with translate_header_faults(answer, "from which no report can be made"):
        if answer.status != "refused":
            refuse_foreign(path)
        report = build_report(answer, vocabulary, tell_user)
        refuse_other_series(path, report)
        _copy_dates_of_same_report(path, report)
        clear_unfinished(folder, name=escape(path.name))  # it may contain the patient's name
        return replace_with(path, partial(report.save_as, enforce_file_format=True))
