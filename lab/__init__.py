"""Real faults on real kernels: what makes them, and the machines they run on."""
