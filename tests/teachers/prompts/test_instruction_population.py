"""Instructions: drawn by score, and the worst replaced by a candidate that was tried on failures."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs import IntAxis, ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.prompts.instruction_population import recombine

SPACE = ParamSpace([IntAxis("digits", 1, 5)])
GOOD, BAD, BETTER = "Be right.", "Be quick.", "Be right and quick."


def play(teacher, rates, rounds=1, k=8):
    """Let students answer whose success rate is that of the instruction; return the proposals."""
    seen = []
    for _ in range(rounds):
        proposals = teacher.propose(k)
        seen += proposals
        teacher.observe([Outcome(p.id, p.task, [rates[p.meta["system"]]]) for p in proposals])
    return seen


@pytest.mark.parametrize(("temperature", "share"), [(1e3, 0.5), (0.4, 1 / (1 + np.exp(-2))), (0.01, 1.0)])
def test_the_share_of_the_better_one_rises_to_one_as_the_temperature_falls(temperature, share):
    # Mean rewards 0.9 and 0.1: softmax gives 1 / (1 + exp(-0.8 / temperature)).
    teacher = make("instruction-population", SPACE, instructions=[GOOD, BAD], temperature=temperature, every=1000)
    teacher.totals, teacher.counts = [9.0, 1.0], [10, 10]
    assert teacher.probabilities()[0] == pytest.approx(share, abs=1e-3)


def test_the_worst_is_replaced_by_the_best_candidate_tried_on_failed_tasks_without_training():
    asked = []

    def reflect(instruction, failures, scores, rng):
        asked.append((instruction, failures, dict(scores)))
        return ("Worse.", BETTER)[len(asked) % 2]

    teacher = make("instruction-population", SPACE, instructions=[GOOD, BAD], generator=reflect, every=8, held=2)
    rates = {GOOD: 0.6, BAD: 0.1, BETTER: 0.9, "Worse.": 0.0}
    seen = play(teacher, rates, rounds=2)
    trials = [p for p in seen if not p.train]
    assert {p.meta["system"] for p in trials} == {BETTER, "Worse."}
    assert len(trials) == 4 == len(seen) // 4  # two candidates on two tasks, half of the second batch
    assert all(instruction == BAD and failures for instruction, failures, _ in asked)
    assert asked[0][2][BAD] == pytest.approx(0.1)
    assert sorted(teacher.population) == sorted([GOOD, BETTER])
    assert teacher.metrics()["replaced"] == 1.0
    place = teacher.population.index(BETTER)
    assert teacher.totals[place] / teacher.counts[place] == pytest.approx(0.9)


def test_the_population_keeps_its_size_and_the_last_instruction_stays():
    teacher = make("instruction-population", SPACE, every=4, seed=1)
    for _ in range(30):
        proposals = teacher.propose(8)
        teacher.observe([Outcome(p.id, p.task, [float("step" in p.meta["system"])]) for p in proposals])
        assert len(set(teacher.population)) == 4
    assert teacher.replaced > 1
    assert sum("step" in text for text in teacher.population) > 1  # it spreads
    alone = make("instruction-population", SPACE, instructions=[BAD], every=1)
    play(alone, {BAD: 0.0}, rounds=10)
    assert alone.population == [BAD]


def test_lost_trials_replace_nothing():
    teacher = make("instruction-population", SPACE, every=4, max_in_flight=8)
    teacher.observe([Outcome(p.id, p.task, [0.0]) for p in teacher.propose(8)])
    assert not all(p.train for p in teacher.propose(8))
    for _ in range(3):
        teacher.observe([Outcome(p.id, p.task, [0.0]) for p in teacher.propose(8) if p.train])
    assert len(teacher.population) == 4


def test_a_candidate_takes_a_sentence_of_another_instruction_or_leaves_one_out():
    rng = np.random.default_rng(0)
    found = {recombine("A one. B two.", [], {"A one. B two.": 0.5, "C three.": 0.1}, rng) for _ in range(40)}
    assert found == {"C three. A one. B two.", "A one. C three. B two.", "A one. B two. C three.", "A one.", "B two."}


def test_an_agent_reads_the_failures():
    class Writer:
        def act(self, observations, infos):
            self.request = observations[0]
            return ["  Check twice.  "]

        def reset(self, indices):
            pass

    writer = Writer()
    teacher = make("instruction-population", SPACE, instructions=[GOOD, BAD], generator=writer, every=8, candidates=1)
    play(teacher, {GOOD: 0.0, BAD: 0.0, "Check twice.": 1.0}, rounds=2)
    assert '"digits":' in writer.request
    assert "0%: " in writer.request
    assert "Check twice." in teacher.population
    with pytest.raises(InputError, match="generator"):
        make("instruction-population", SPACE, generator=3)
