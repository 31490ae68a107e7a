"""Derived facts: each is computed here and nowhere else, live and from recorded segments by the same code."""
