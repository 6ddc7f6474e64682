"""Simulated bodies and a simulated scanner, entered by `collection`; each part uses only those
above it.

geometry     shapes, and labels on any grid
scanner      an image of any labels and tissues
features     what of all this can be left out, by name
person       what varies between people
anatomy      the body of one person, organ by organ
finish       processing of images before they are shared
acquisition  fields of view, planes, sequences and coils: plans of what is acquired of a person
bodiless     vessels, phantoms of quality control, fruit, animals and hands, and volumes of them
oddities     noise, air and plain bottles
variety      from a standard plan to one as found in archives; `features` names what it varies
one_scanner  the same for everybody: an archive of one site
collection   people, their volumes and the true regions of every slice on disk
own_labels   the same for a user's segmentation
"""
