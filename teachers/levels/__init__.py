"""Level buffers: tasks that are generated, scored, kept, edited and replayed."""
