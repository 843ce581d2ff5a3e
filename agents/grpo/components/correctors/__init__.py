"""Correctors reweight or drop tokens for the gap between the policy that sampled, the anchor of the ratios and the
policy that is trained.
"""
