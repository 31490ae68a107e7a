"""Play a scenario: is the machine fit, what was found, is it what was expected, is all as it was before."""
