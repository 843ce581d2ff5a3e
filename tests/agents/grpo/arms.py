"""A task with two arms and models that pull them: what every recipe must be able to learn."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import palaestra
import torch
from palaestra.agents.grpo.batch.trajectory import Group, Node
from palaestra.agents.grpo.warmup import supervised_step
from palaestra.agents.language.model import LanguageModel
from palaestra.envs import IntAxis, ParamSpace, Question, Task

from .conftest import trajectory  # isort: skip

ENV = "tests/TwoArmed-v0"
SUPPLIED = {
    "solution_steps": ["b", "b"],
    "rubric": [{"text": "gives the right answer", "kind": "outcome"}],
    "step_labels": [True],
    "reference": "b",
}
"""What the environment would supply to rewards of an episode that a test makes."""


class TwoArmed(Question):
    """Say b."""

    param_space = ParamSpace([IntAxis("high", 10, 1000)])
    supplies = Question.supplies | {"step_labels"}

    def generate(self, rng, params):
        return Task(f"a or b? {int(rng.integers(params['high']))}", reference="b")

    def compute_extra(self, subject, name):
        return SUPPLIED[name] if name in SUPPLIED else super().compute_extra(subject, name)

    def solution_steps(self, task):
        return ["b", "b"]


palaestra.envs.register(ENV, TwoArmed)


def measured(group: int, label: str) -> dict[str, Any]:
    """What the learner would measure of an episode that a test makes: pairs of groups, a teacher's label, a thought's
    gain."""
    return {
        "prefix_values": [0.5, 0.5],
        "system_text": "",
        "pair": group // 2,
        "teacher_answer": label,
        "thought_logps": [-0.5],
        "base_logps": [-1.0],
    }


def prompts(language: LanguageModel) -> list[tuple[int, ...]]:
    """Some of the environment's prompts as ids."""
    env = gymnasium.make(ENV)
    return [language.renderer.observation(env.reset(seed=seed)[0], first=True) for seed in range(6)]


def preference(language: LanguageModel) -> float:
    """Log-odds of b against a, averaged over prompts."""
    a, b = (language.renderer.action_ids(text)[0] for text in "ab")
    total = 0.0
    with torch.no_grad():
        for ids in (asked := prompts(language)):
            logits = language.model(torch.tensor([ids])).logits[0, -1]
            total += float(logits[b] - logits[a])
    return total / len(asked)


def trained_on(small: LanguageModel, answers: str, steps: int = 60) -> LanguageModel:
    """A copy of a model that gives these one-letter answers, each as often as it stands in ``answers``."""
    language = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer)
    asked = prompts(language)
    episodes = [
        trajectory(1.0, [(list(ids), list(language.renderer.action_ids(answer)))])
        for ids in asked
        for answer in answers
    ]
    optimizer: Any = torch.optim.Adam(language.model.parameters(), lr=1e-2)
    for _ in range(steps):
        supervised_step(language.model, episodes)
        optimizer.step()
        optimizer.zero_grad()
    return language


def both_arms(language: LanguageModel, pulls: str = "bbba", **changes: Any) -> list[Group]:
    """One group on each of three prompts; the policy's own log-probabilities come with its answers."""
    from palaestra.agents.grpo.batch.batch import collate
    from palaestra.agents.grpo.batch.passes import Passes

    groups = []
    for number, ids in enumerate(prompts(language)[:3]):
        members = []
        for member, pull in enumerate(pulls):
            act = list(language.renderer.action_ids(pull))
            fields = {
                "texts": [pull],
                "success": pull == "b",
                "task_id": str(number),
                "extras": {**SUPPLIED, **measured(number, "b"), "objective": float(pull == "b")},
                **changes,
            }
            fields["nodes"] = (Node(str(member), len(act), value=pulls.count("b") / len(pulls)),)
            made = trajectory(float(pull == "b"), [(list(ids), act)], **fields)
            batch = collate([Group(-1, (made,))])
            logps = Passes().measure(language.model, batch).logp[batch.action].tolist()
            members.append(trajectory(float(pull == "b"), [(list(ids), act)], [logps], **fields))
        groups.append(Group(number, tuple(members), greedy=0.5, drawn=tuple(float(p == "b") for p in pulls)))
    return groups
