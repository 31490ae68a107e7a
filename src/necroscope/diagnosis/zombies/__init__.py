"""What zombie memory cgroups cost here, who leaks them, and when it will hurt."""
