"""PURE. What stands on the cluster, what gets applied, and who owns it."""
