"""`kvobs verify --report`: one HTML file that needs nothing else, with each dashboard laid out as Grafana does."""

from .page import to_html

__all__ = ["to_html"]
