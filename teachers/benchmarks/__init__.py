"""Teachers compared on students: the tables of ``palaestra bench teachers``.

A table (`table.Table`) is data, the settings, and a function that makes one run; `runs` plays runs in processes of
their own and keeps a record of each; `statistics` turns records into means with intervals.
"""
