"""Requests of the teacher's proposals to the learner: one function for each key of `Proposal.meta`."""
