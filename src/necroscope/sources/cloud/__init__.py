"""What the metadata service of a cloud says of a machine. Only one is asked: the firmware says which."""
