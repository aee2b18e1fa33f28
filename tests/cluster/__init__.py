"""A Kubernetes cluster on loopback: real servers, simulated machines. Start at bed.py."""
