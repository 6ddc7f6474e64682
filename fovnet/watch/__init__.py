"""What a service tells of itself while it is at work, on a port of this machine alone.

figures  counts since the start, and seconds by stage
tally    what the answers of a table come to: by status, region and code
metrics  both as Prometheus reads them
serving  the pages of a local port
"""
