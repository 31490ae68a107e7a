"""Whether a fix helped: the same quantities before and after it."""
