"""Rewrites of the Core IR. `pipeline.py` says which run and in which order."""
