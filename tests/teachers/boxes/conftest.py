from __future__ import annotations

import pytest
from palaestra.teachers import make
from palaestra.teachers.students import HypercubeStudent


@pytest.fixture
def mastered():
    """Teach the toy student of 10 x 10 cubes and return the share of cubes that it masters."""

    def teach(name, episodes, seed=0, **options):
        student = HypercubeStudent(2, 10, seed=seed)
        teacher = make(name, student.space, seed=seed, **options)
        for _ in range(episodes):
            task = teacher.sample()
            teacher.update(task, student.episode(task))
        return student.mastered()

    return teach
