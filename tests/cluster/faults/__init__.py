"""Faults between kvobs and the API server: every kind at every request, and what a run makes of it.

`kinds` are the faults, `proxy` puts them on the way, `worlds` are the clusters on which kvobs meets them, `sweep` runs
the cases and judges how they end, `table` says it in a table. `python -m tests.cluster.faults` runs them all.
"""
