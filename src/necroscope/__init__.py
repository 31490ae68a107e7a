"""Find what starves a Linux node, and the cause behind it."""

__version__ = "0.1.0"
