"""Measurements, printed as Markdown tables for the README."""
