"""Queries as trees: `query_tree` writes them as SQL, `query_grammar` draws them, `wording` writes their questions in
English, `query_steps` writes worked solutions, and `near_misses` makes wrong queries from a right one."""
