"""Surrogates: the value that is maximised at each token; the objective negates and weights it. One family a file."""
