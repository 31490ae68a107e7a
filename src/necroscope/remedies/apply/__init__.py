"""Apply, undo, go on: one at a time, every step checked."""
