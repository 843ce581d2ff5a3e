"""Selectors over a finite list of tasks, such as the prompts of a data set."""
