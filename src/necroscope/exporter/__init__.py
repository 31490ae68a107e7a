"""The recorder's numbers for Prometheus."""
