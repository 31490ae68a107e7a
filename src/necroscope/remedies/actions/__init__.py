"""The kinds of change that there are, one a file: the only code that changes a machine."""
