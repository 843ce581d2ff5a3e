"""Regularisers: penalties added to the loss at each token, already multiplied by their coefficient."""
