"""Tasks in WebArena's format, and their evaluators."""
