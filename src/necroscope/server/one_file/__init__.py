"""The page with its answers in one HTML file, which needs neither a server nor a network."""
