"""Palaestra's environments and teachers in other projects' trainers and evaluations, a file a project.

    from palaestra.integrations import trl
    from palaestra.integrations.datasets import to_dataset
    to_dataset("palaestra/Countdown-v0", n=1000, split="train").to_parquet("countdown.parquet")

Each file's docstring opens with an example. All of them stand on `core`. Nothing here is loaded before it is imported
by name, and the other project is loaded only when it is used.
"""
