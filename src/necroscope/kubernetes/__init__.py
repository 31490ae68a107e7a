"""Kubernetes: what this node tells the cluster it is in."""
