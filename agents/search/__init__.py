"""Search over the steps of answers and episodes: trees of prefixes, selection rules, values, a searching agent.

A node is a prefix that ends with a step: a line, a sentence, a turn, or a number of tokens. The policy completes the
prefixes that a rule selects; the completions become new nodes, and their values decide what is selected next.

    step_tree.py       prefixes with visits and values; back-up of the values of completions
    searches.py        `Search`: budget, steps and selection rule; one class per rule, in the registry SEARCHES
    values.py          values of completions and steps: verdicts, votes, likelihoods, judges, reward models
    waves.py           one wave of all trees: select, complete, value
    search_agent.py    `SearchAgent`, which plays the best episode that a search has found
    error_search.py    binary search for the first wrong step (OmegaPRM)
    step_pairs.py      pairs of better and worse steps with the same prefix (rStar-Math)

Training uses the same trees through the rollout strategy "search" (`agents.grpo.rollouts.tree_search`).
"""
