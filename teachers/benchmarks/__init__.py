"""Teachers compared on students: the tables of ``palaestra bench teachers``.

A table (`table.Table`) is data: settings, and a function that makes one run. `runs` plays each run in a separate
process and records it; `statistics` turns records into means with intervals.
"""
