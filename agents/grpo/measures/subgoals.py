"""Subgoals that an author names for a task, and that a judge looks for in every step (CALM, arXiv 2409.12798)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....checks import check_count, check_number
from ....errors import InputError
from ....rewards.judges.endpoint import EndpointJudge
from ....rewards.judges.judge import as_judge
from ....rewards.judges.subgoals import (
    DECOMPOSITION,
    QUESTION,
    SubgoalJudge,
    Transition,
    check_question,
    describe_step,
    label_steps,
    read_subgoals,
)
from ...agent import Agent, make
from ...lookup import find_agent
from ..batch.trajectory import Group, Trajectory
from .judgements import POLICY, for_each_valid, policy_scores
from .producer import Found, ProducerTools, produces


@produces("achieved")
def judge_subgoals(
    groups: Sequence[Group],
    tools: ProducerTools,
    subgoals: Sequence[str] | None = None,
    author: Any = POLICY,
    judge: Any = POLICY,
    question: str = QUESTION,
    threshold: float = 0.5,
    most: int = 4,
) -> Found:
    """Subgoals achieved by each step according to a judge, in place of the environment's report.

    The judge is asked once for each step and each subgoal that no earlier step achieved. The value is None for an
    episode whose author or judge failed.

    Args:
        subgoals: names of the subgoals; None: ``author`` names them for each task.
        author: "policy", an agent as named on the command line (`agents.lookup.find_agent`), ``{"agent": name,
            ...options}``, or an endpoint as data, ``{"judge": "endpoint", "model": "..."}``. It is asked once per
            distinct task of a training step.
        judge: "policy", a registered judge by name, or data.
        question: question to the judge; ``{subgoal}`` is replaced by the subgoal.
        threshold: least score of a step that achieves the subgoal, in [0, 1].
        most: most subgoals that an author may name.
    """
    check_question("question", question)
    check_number("threshold", threshold, 0.0, 1.0)
    check_count("most", most, 1, "subgoals")
    if isinstance(subgoals, str):
        raise InputError(f"subgoals must be a sequence of names, such as ('key', 'door'), not {subgoals!r}.")

    def policy_judge(transitions: Sequence[Transition]) -> list[bool | None]:
        texts = ["\n".join(describe_step(episode, t)) for _, episode, t in transitions]
        questions = [question.replace("{subgoal}", name) for name, _, _ in transitions]
        scores = policy_scores(texts, questions, tools)
        return [None if score is None else score >= threshold for score in scores]

    asked = policy_judge if judge == POLICY else SubgoalJudge(judge, question, threshold).judge_all

    def measure(trajectories: list[Trajectory]) -> list[dict[str, Any]]:
        episodes = [trajectory.episode for trajectory in trajectories]
        if subgoals is None:
            named = name_subgoals([episode.prompt for episode in episodes], author, most, tools)
        else:
            named = [list(subgoals)] * len(episodes)
        known = [n for n, names in enumerate(named) if names is not None]
        labels = label_steps([episodes[n] for n in known], [named[n] or () for n in known], asked)
        found = dict(zip(known, labels, strict=True))
        return [{"achieved": found.get(n)} for n in range(len(episodes))]

    return for_each_valid(groups, measure)


def name_subgoals(tasks: Sequence[str], author: Any, most: int, tools: ProducerTools) -> list[list[str] | None]:
    """Ask an author for the subgoals of each task, once for equal tasks; None for tasks for which it failed.

    Args:
        tasks: first observations. If the policy is the author, a task that leaves no space for an answer gets None.
        author, most: as in `judge_subgoals`.
    """
    distinct = list(dict.fromkeys(tasks))
    questions = [DECOMPOSITION.format(most=most, task=task) for task in distinct]
    texts: list[str | None]
    if author == POLICY:
        texts = [None if turn is None else turn.action for turn in tools.player.ask(questions)]
    else:
        texts = _write_texts(author, questions)
    named = {task: None if text is None else read_subgoals(text, most) for task, text in zip(distinct, texts)}
    return [named[task] for task in tasks]


def _write_texts(author: Any, questions: Sequence[str]) -> list[str | None]:
    """Ask an agent or endpoint each question in a separate conversation and return its answers; None for failures."""
    if isinstance(author, Mapping) and "judge" in author:
        endpoint = as_judge(author)
        if not isinstance(endpoint, EndpointJudge):
            raise InputError(f"of the judges only 'endpoint' writes text, not {author['judge']!r}.")
        with endpoint:
            return [endpoint.chat([{"role": "user", "content": question}]) for question in questions]
    if isinstance(author, str):
        agent = find_agent(author)
    elif isinstance(author, Mapping) and isinstance(author.get("agent"), str):
        agent = make(author["agent"], **{key: value for key, value in author.items() if key != "agent"})
    elif isinstance(author, Agent):
        agent = author
    else:
        raise InputError(f"an author is {POLICY!r}, an agent's name, or data that names one, not {author!r}.")
    agent.reset(range(len(questions)))
    replies = agent.act(list(questions), [{}] * len(questions))
    return [reply if isinstance(reply, str) else None for reply in replies]
