"""What can be asked of a store: plain functions that read and answer. Times are microseconds in UTC."""
