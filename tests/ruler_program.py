"""A valid ruler of five marks, which tests put into the database of programs."""


def construct():
    return [0, 1, 4, 9, 20]
