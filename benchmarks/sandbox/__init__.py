"""Speed of the sandboxes, compared with a cold interpreter and GEM's sandboxes."""
