"""What the server answers: one file each question. Times are microseconds in UTC."""
