"""The names of scipy that this project uses: its source states no types, and to infer them takes minutes."""
