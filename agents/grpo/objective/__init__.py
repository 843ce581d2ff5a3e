"""A recipe made runnable: its components bound, episodes weighed, the loss and its gradient."""
