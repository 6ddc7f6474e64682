"""Simulated bodies and a simulated scanner.  The way in is `collection.simulate_collection`; each part uses only those above it.

    geometry     shapes, and labels on any grid
    scanner      an image of any labels and tissues
    person       what varies between people
    anatomy      the body of one person, organ by organ
    finish       what is done to images before they are shared
    acquisition  fields of view, planes, sequences and coils: plans of what is acquired of a person
    oddities     volumes without a body
    variety      from a plain plan to one that an archive holds; `features` names what it varies
    collection   people, their volumes and the truth of every slice on disk
    own_labels   the same for a segmentation of one's own
"""
