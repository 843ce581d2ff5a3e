"""Plot a comparison of teachers on a simulated student that can only learn tasks next to those it has learned."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from palaestra.teachers import make
from palaestra.teachers.students import HypercubeStudent

mpl.use("Agg")
import matplotlib.pyplot as plt

TEACHERS, SEEDS, EPISODES, EVERY = ("random", "alp-gmm", "covar-gmm", "palaestra"), 3, 3000, 100

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name in TEACHERS:
    curves = np.zeros((SEEDS, EPISODES // EVERY))
    for seed in range(SEEDS):
        student = HypercubeStudent(dimensions=2, cubes=6, seed=seed)
        teacher = make(name, student.space, seed=seed)
        for episode in range(EPISODES):
            task = teacher.sample()
            teacher.update(task, student.episode(task))
            if (episode + 1) % EVERY == 0:
                curves[seed, episode // EVERY] = student.mastered()
    print(f"{name:10} {curves[:, -1].mean():.0%} mastered")
    axes.plot(np.arange(1, EPISODES // EVERY + 1) * EVERY, 100 * curves.mean(axis=0), label=name)
axes.set(xlabel="episodes", ylabel="cells mastered (%)", ylim=(0, 100))
axes.legend(frameon=False)
figure.savefig("teachers.png", dpi=120)
print("plot in teachers.png")
