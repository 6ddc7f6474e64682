"""Planned acquisitions: kinds of fields of view, and a `protocols.Plan` with plane, spacing,
sequence and coil.

The other files turn a standard plan into less usual ones, as found in archives; `variety` calls
them, `collection` carries plans out.

    protocols, field_kinds  plans, and the kinds of field that they are of
    measured_fields         fields and coils as measured in archives
"""
