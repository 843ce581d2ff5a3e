"""Rewritten prompts: who writes them, what is shown, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from palaestra.agents.agent import Agent
from palaestra.agents.grpo.config import RequestSettings, TrainConfig
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits
from palaestra.agents.grpo.teacher_requests.rewriting import OriginalPrompt, find_fault, read_rewriting
from palaestra.errors import InputError

from .conftest import rows


def player_of(language, context):
    """A player that only measures texts."""
    return EpisodePlayer(None, None, language.renderer, TokenLimits(16, 64, context), 1.0, None)  # type: ignore[arg-type]


QUESTIONS: list[str] = []


def reword(request: str) -> str:
    """The rewriter of these tests: takes the question from the request and puts two words before it."""
    QUESTIONS.append(request)
    return f"Tell me: {request.splitlines()[-1]}"


@dataclass(eq=False)
class Counting(Agent):
    """A rewriter with a memory, and noise of its own."""

    count: int = 0
    name: str = "counting"

    def act(self, observations, infos):
        self.count += len(observations)
        return [f"Question {self.count}: {text.splitlines()[-1]}" for text in observations]

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


HERE = __name__
CLPO = {"hard": 0.7, "medium": 0.9, "group": 2}


def clpo(start, rewriter, name="run", **options):
    settings = RequestSettings(rewriter=rewriter)
    return start("clpo", name, teacher_options=CLPO, requests=settings, prompts=4, **options)


def test_a_hard_prompt_is_shown_rewritten_and_its_answer_stays_the_same(start):
    learner = clpo(start, f"{HERE}:reword", seed=4)
    first, second = learner.parts.collector.collect(1), learner.parts.collector.collect(2)
    originals = {
        row.group.trajectories[0].task_id: row.group.trajectories[0].turns[0].observation for row in first.played
    }
    edited = [row for row in second.played if row.proposal.origin == "edit"]
    assert edited
    assert all(row.done["rewrite"] == "used" for row in edited)
    for row in edited:
        for trajectory in row.group.trajectories:
            # The same task, so the same reference; the prompt is the new one, in the trained tokens too.
            assert trajectory.turns[0].observation == f"Tell me: {originals[trajectory.task_id]}"
            shown = learner.language.renderer.tokenizer.decode(list(trajectory.turns[0].obs_ids))
            assert trajectory.turns[0].observation in shown
            assert trajectory.success == (trajectory.turns[0].action == "b")
    assert any("simpler words" in question for question in QUESTIONS)


def test_the_policy_rewrites_by_default_and_what_fails_the_checks_is_counted(start):
    learner = start("clpo", teacher_options=CLPO, prompts=4, steps=2)
    assert learner.run()
    asked = [row for row in rows(learner.folder.path, "proposals") if "rewrite" in row.get("asked", ())]
    assert asked
    for row in asked:
        assert row["done"]["rewrite"] in ("used", "empty", "unchanged", "answer", "numbers", "long", "unasked")
    figures = rows(learner.folder.path, "metrics")[1]
    assert figures["requests/rewrite"] == len(asked)
    assert sum(value for name, value in figures.items() if name.startswith("requests/rewrite/")) == len(asked)


def test_a_refused_rewriting_leaves_the_original_prompt(start):
    learner = clpo(start, f"{HERE}:forget")
    first, second = learner.parts.collector.collect(1), learner.parts.collector.collect(2)
    originals = {t.task_id: t.turns[0].observation for group in first.groups for t in group.trajectories}
    edited = [row for row in second.played if row.proposal.origin == "edit"]
    assert {row.done["rewrite"] for row in edited} == {"numbers"}
    # The teacher takes them for groups of the original prompts.
    assert learner.parts.teacher.metrics()["rewritten"] == 0
    for trajectory in (t for row in edited for t in row.group.trajectories):
        assert trajectory.turns[0].observation == originals[trajectory.task_id]


def forget(request: str) -> str:
    return "Say a letter."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("What is 12 + 30 ?", "unchanged"),
        ("42", "answer"),
        ("What is 12 + 30? It is 42.", "answer"),
        ("What is 12 + thirty?", "numbers"),
        ("What do you get by adding 30 to 12?", ""),
        ("What do you get by adding 30 to 12? " + "Think. " * 30, "long"),
    ],
)
def test_what_is_checked(text, fault, small):
    player = player_of(small, context=120)
    original = OriginalPrompt("What is 12 + 30?", "", "42")
    assert find_fault(original, text, player) == fault


def test_a_question_that_names_its_answer_may_name_it_in_other_words_too(small):
    player = player_of(small, context=500)
    assert find_fault(OriginalPrompt("a or b?", "", "b"), "Choose: is it a, or b?", player) == ""


def test_thoughts_and_quotation_marks_are_not_part_of_the_question():
    assert read_rewriting('<think>shorter?</think>\n"What is 1 + 2?"\n') == "What is 1 + 2?"


def test_the_sentence_on_the_form_of_the_answer_stays_as_it_is(start):
    learner = clpo(start, f"{HERE}:reword", env="palaestra/Arithmetic-v0", axes={"digits": 1, "terms": 2})
    learner.parts.environments._kwargs["answer_format"] = "boxed"
    learner.parts.environments._free.clear()
    learner.parts.collector.collect(1)
    edited = [row for row in learner.parts.collector.collect(2).played if row.done.get("rewrite") == "used"]
    assert edited
    for trajectory in (t for row in edited for t in row.group.trajectories):
        shown = trajectory.turns[0].observation
        assert shown.startswith("Tell me: ")
        assert shown.endswith(" Put the answer in \\boxed{}.")
    assert not any("boxed" in question for question in QUESTIONS)


def test_a_run_with_a_rewriter_that_has_a_memory_resumes_bit_for_bit(start):
    # Warm in memory, so that the second half of the stopped run begins with a rewriter made anew.
    whole = clpo(start, f"{HERE}:Counting", "whole", steps=4)
    assert whole.run()
    stopped = clpo(start, f"{HERE}:Counting", "stopped", steps=4)
    assert not stopped.run(lambda progress: progress.step == 2 and stopped.stop())
    again = Learner.resume(stopped.folder.path)
    assert again.parts.collector.rewriter.agent.count == 2
    assert again.run()
    for log in ("metrics", "proposals", "trajectories"):
        assert rows(again.folder.path, log) == rows(whole.folder.path, log)
    assert sum(row.get("requests/rewrite/used", 0) for row in rows(whole.folder.path, "metrics")) == 6


def test_an_unknown_rewriter_is_refused_before_a_model_is_loaded(tmp_path):
    config = TrainConfig(teacher="clpo", pool=4, model="no/such/model", requests=RequestSettings(rewriter="orakle"))
    with pytest.raises(InputError, match="unknown agent 'orakle'; did you mean 'oracle'"):
        Learner.start(tmp_path / "run", config)


def test_a_rewriter_must_return_text(start):
    learner = clpo(start, f"{HERE}:numb")
    learner.parts.collector.collect(1)
    with pytest.raises(InputError, match="must return text, not 7"):
        learner.parts.collector.collect(2)


def numb(request: str) -> int:
    return 7
