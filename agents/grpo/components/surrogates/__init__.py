"""Surrogates: the value that is maximised at each token; the loss negates and weights it. One file per family."""
