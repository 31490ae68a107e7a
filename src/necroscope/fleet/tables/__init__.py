"""The tables of a fleet: their columns, their index, how parts become rows, and how they are read."""
