"""Functions that carry out the requests in a teacher's proposals, one for each key of `Proposal.meta`."""
