"""What varies between people, drawn from a seed: `traits.sample_person` gives the `Person` that
anatomy and acquisition take.

Sizes and proportions, and the mapping from a person's millimetres to the written anatomy's;
`anatomy` paints with them.

    traits  `Person`, and how one is drawn
"""
