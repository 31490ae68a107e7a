"""The whole incident: a default unit, its zombies, a core in the kernel, a training job that fails."""
