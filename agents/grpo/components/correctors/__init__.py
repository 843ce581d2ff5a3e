"""Correctors: factors on tokens for the gap between the sampler, the anchor of the ratios and the policy being
trained."""
