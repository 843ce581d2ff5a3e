"""Programs that write files kept in the repository (tables of puzzles, test vectors), which are not part of the
wheel."""
