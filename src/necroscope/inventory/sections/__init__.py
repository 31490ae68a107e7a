"""What a host is made of, one file per part."""
