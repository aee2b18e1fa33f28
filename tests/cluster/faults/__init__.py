"""Faults between kvobs and the API server: every kind at every request, and what a run makes of it.

`kinds` are the faults, `proxy` puts them on the way, `worlds` are the clusters on which kvobs meets them, `sweep` runs
the cases and judges how they end, `crew` runs them on several clusters at once, `kills` stops kvobs, and `table` says
it all in tables. `python -m tests.cluster.faults` runs everything.
"""
