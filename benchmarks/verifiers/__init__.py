"""Errors and speed of the verifiers, compared with other projects' graders."""
