"""From samples to the heatmap and flame graph of any moment and any core."""
