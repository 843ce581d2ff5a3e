"""Carries out what the teacher's proposals ask of the learner: a function for each key of `Proposal.meta`."""
