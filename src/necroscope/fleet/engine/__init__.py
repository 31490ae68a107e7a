"""Who does the counting: one process here, or the tasks of a Ray cluster. Same answers to the last digit."""
