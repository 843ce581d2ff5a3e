"""The benchmark of SQL: verdicts on rewritten and on wrong queries, and tasks made and graded per second."""
