"""Errors and speed of the verifiers, against other projects' graders."""
