"""What can be asked of a fleet: the same functions as `necroscope fleet`, and what the map is made of.

duckdb, numpy and pyarrow are imported by what is here, so this is imported only where a fleet is served.
"""
