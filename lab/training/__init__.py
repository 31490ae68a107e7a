"""A training job on two nodes: real Ray, over a network whose work is all done on one core."""
