"""Measuring: a model against the limits of the machine and against other engines.

`measure.bench` runs everything in fresh worker processes that take turns; `report` and `plot`
show what came of it, `record` keeps it in a card's `bench.json`; `profile` times the steps of
one entry. Importing this package imports nothing else: workers of other engines run under an
interpreter that may have little more than numpy.
"""
