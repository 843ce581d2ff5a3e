"""Credit: from the rewards of a batch to one advantage a token.

    advantage of a token = sum over terms of coefficient x scale(return - baseline) of its unit, then adjustments

A unit of credit gets one value: an episode, a turn, a token or a node of a tree (see `units`).
"""
