"""Real faults, made on purpose and taken back."""
