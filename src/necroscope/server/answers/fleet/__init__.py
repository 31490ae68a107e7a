"""What the server answers about a fleet. What is infinite or not a number is null."""
