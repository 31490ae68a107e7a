"""What the server answers about a fleet. Times are microseconds in UTC."""
