"""Regularisers: penalties added to the loss at each token, coefficient included."""
