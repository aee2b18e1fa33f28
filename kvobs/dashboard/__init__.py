"""PURE. What a Grafana dashboard is: its shape, its references, and the patch."""
