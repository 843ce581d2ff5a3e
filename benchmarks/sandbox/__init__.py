"""Speed of the sandboxes, against a cold interpreter and GEM's sandboxes."""
