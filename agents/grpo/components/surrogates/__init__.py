"""Surrogates: what is maximised at each token. Larger is better; the objective negates and weights them. One family a
file.
"""
