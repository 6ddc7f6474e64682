"""What a service tells of itself while it is at work, on a port of this machine alone.

figures  counts since the start, and seconds by stage
tally    what the answers of a table come to: by status, region and code
log      what happens, in words or as JSON
audit    who used which service, when, for how many objects
drift    whether the newest answers are still as those accepted
metrics  both as Prometheus reads them
serving  the pages of a local port
"""
