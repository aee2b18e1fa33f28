"""Grafana's own template interpolation (`@grafana/scenes`, in Node), which kvobs' is compared with."""
