"""Auxiliary models, trained together with the policy: a critic, reward models of tokens and processes."""
