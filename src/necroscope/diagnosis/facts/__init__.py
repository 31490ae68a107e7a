"""What can be found out about a symptom, one file per side from which it is looked at."""
