"""A page in the browser to label volumes, from the answers of the networks or from nothing; on this
machine alone.

    starts     what may be labelled: answers of `fovnet predict`, tables of a collection
    order      which of it is asked for first
    readings   what each reader made of each volume, from the log
    desk       what one session does with it: the next volume, an action, progress
    serve      the page at an address of this machine
    agreement  how far readers agree, as tables

Behind these doors: `law` (what a label may be), `log` (every action, the truth), `tables` (written
from it), `pictures`, `guard` and `app` (requests), and `page/` (for the browser).
"""
