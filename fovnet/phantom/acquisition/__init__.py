"""What is acquired of a person: families of fields of view, and a `protocols.Plan` with plane, spacing, sequence and coil.

The other files make of a plan another one, as archives hold beside the usual; `variety` asks them, `collection` carries plans out.
"""
