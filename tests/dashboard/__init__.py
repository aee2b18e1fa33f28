"""Tests of what a dashboard is, and of the patch."""
