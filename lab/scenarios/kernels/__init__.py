"""The same probes on several kernels, and the table that comes out."""
