"""Palaestra's environments and teachers in other projects' trainers and evaluations, one file per project.

    from palaestra.integrations import trl
    from palaestra.integrations.datasets import to_dataset
    to_dataset("palaestra/Countdown-v0", n=1000, split="train").to_parquet("countdown.parquet")

Each file's docstring opens with an example. All files build on `core`. A module is loaded only when it is imported by
name, and the other project only when it is used.
"""
