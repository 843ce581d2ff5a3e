"""Queries as trees: `query_tree` writes them as SQL, `query_grammar` draws them, `wording` asks for them in English,
`query_steps` works them out, and `near_misses` makes wrong ones of a right one."""
