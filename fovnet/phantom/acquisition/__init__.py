"""Planned acquisitions: families of fields of view, and a `protocols.Plan` with plane, spacing, sequence and coil.

The other files turn a plan into a less usual one, as archives also hold; `variety` calls them, `collection` carries plans out.
"""
