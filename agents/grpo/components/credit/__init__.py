"""Credit assignment: from the rewards of a batch to one advantage per token.

    advantage of a token = sum over terms of coefficient x scale(return - baseline) of its unit, then adjustments

A unit of credit is what gets one return: an episode, a turn, a token or a node of a tree (see `units`).
"""
