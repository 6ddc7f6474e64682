"""Planned acquisitions: families of fields of view, and a `protocols.Plan` with plane, spacing,
sequence and coil.

The other files turn a standard plan into less usual ones, as found in archives; `variety` calls
them, `collection` carries plans out.

    protocols, families  plans, and the families that they are of
"""
