"""Published data sets of questions about databases: their records, their databases, and how answers are judged."""
