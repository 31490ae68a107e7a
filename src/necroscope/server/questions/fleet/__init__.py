"""Answers what is asked of a fleet: the questions of `necroscope fleet`, and the map.

Most files import duckdb, numpy and pyarrow. Whoever serves without a fleet imports none of them.
"""
