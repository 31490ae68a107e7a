"""What a host sends to the fleet's place: staged in a spool, content-addressed, sent until it has arrived."""
