"""Teachers over continuous task parameters, seen as points of the unit cube."""
