"""What varies between people, drawn from a seed: `traits.sample_person` gives the `Person` that anatomy and acquisition are asked for.

Sizes and shares, and the way from a person's millimetres to the written anatomy's; what is painted with them is `anatomy`.
"""
