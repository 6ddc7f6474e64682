"""From the folder of a published data set to the two tables of a collection; each gives a
`Gathering`.

    gathering  what was found, and how it becomes tables
    bids, chaos, dicom, ixi, spider, totalsegmentator  one layout each
    masked    any volumes with organ masks

Behind these doors: `organs`, regions from the organs of a slice, and `body`, slices that show more
than air.
"""
