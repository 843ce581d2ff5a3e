"""Programs that write files kept in the repository: tables of puzzles, test vectors. They are not part of the wheel."""
