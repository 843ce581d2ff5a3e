"""Credit: from what was paid to one advantage a token, in small pieces.

    advantage of a token = sum over terms of coefficient x scale(return - baseline) of its unit, then adjustments

A unit is whatever gets one value: an episode, a turn, a token, a node of a tree. See `units`.
"""
