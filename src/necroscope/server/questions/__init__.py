"""What can be asked of a store: plain functions that read and give an answer."""
