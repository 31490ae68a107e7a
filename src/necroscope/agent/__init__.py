"""The daemon: the recorder, the children that it supervises, and what it reports."""
