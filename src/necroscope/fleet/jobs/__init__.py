"""The jobs of Ray clusters: how they are asked for, on which hosts they ran, and how they are kept."""
