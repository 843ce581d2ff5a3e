from __future__ import annotations

import pytest
from palaestra.agents.engines.resending import Answer, GenerationTask, ResendingEngine
from palaestra.agents.engines.sampler import Request
from palaestra.errors import InputError

STOP = 1


class Counting(ResendingEngine):
    """Answers with the number of ids that it was sent, and so on upwards, each at half the log-probability."""

    def __init__(self, room: int = 40):
        super().__init__([STOP], vocabulary=50, max_length=30, room=room)
        self.tasks: list[GenerationTask] = []
        self.cancelled: list[int] = []

    def _start(self, task: GenerationTask) -> None:
        self.tasks.append(task)

    def _cancel(self, task: GenerationTask) -> None:
        self.cancelled.append(task.number)

    def _wait(self) -> list[tuple[int, Answer]]:
        number = min(self._sessions)
        task = self._task(number)
        forced = task.ids[len(task.ids) - task.forced :]
        sampled = tuple(range(len(task.ids), len(task.ids) + task.samples))
        ids = (*forced, *sampled)
        return [(number, Answer(ids, tuple(i / 2 for i in ids)))]


def test_each_request_sends_the_whole_conversation_with_the_answers_as_sampled():
    engine = Counting()
    engine.submit(Request(4, [5, 6], 2))
    (first,) = engine.step()
    assert first.ids == (2, 3)
    engine.submit(Request(4, [9], 1, forced=[8]))
    (second,) = engine.step()
    assert engine.tasks[1].ids == (5, 6, 2, 3, 9, 8)
    assert (second.ids, second.logps, second.finish) == ((8, 6), (4.0, 3.0), "length")
    engine.submit(Request(4, [7], 1))
    assert engine.tasks[2].ids == (5, 6, 2, 3, 9, 8, 6, 7)


@pytest.mark.parametrize(("forced", "budget"), [([8, 9], 0), ([8, STOP], 5)])
def test_forced_tokens_that_end_an_answer_are_only_scored(forced, budget):
    engine = Counting()
    engine.submit(Request(0, [5], budget, forced=forced))
    assert engine.tasks[0].samples == 1
    (done,) = engine.step()
    assert list(done.ids) == forced
    assert len(done.logps) == 2
    assert done.finish == ("stop" if STOP in forced else "length")
    engine.submit(Request(0, [6], 1))
    assert engine.tasks[1].ids == (5, *forced, 6)


def test_noise_depends_on_seed_session_and_number_of_the_request_alone():
    def seeds(base: int, sessions: list[int]) -> list[int]:
        engine = Counting()
        engine.seed(base)
        for session in sessions:
            engine.submit(Request(session, [5], 1))
        while engine.step():
            pass
        for session in sessions:
            engine.submit(Request(session, [5], 1))
        return [task.seed for task in engine.tasks]

    one, two, again_one, again_two = seeds(3, [1, 2])
    assert len({one, two, again_one, again_two}) == 4
    assert seeds(3, [2]) == [two, again_two]
    assert seeds(4, [2])[0] != two


def test_a_request_with_a_seed_of_its_own_has_the_same_noise_wherever_it_is_asked():
    def ask(base: int, session: int, before: int, seed: int) -> int:
        engine = Counting()
        engine.seed(base)
        for _ in range(before):
            engine.submit(Request(session, [5], 1))
            engine.step()
        engine.submit(Request(session, [5], 1, seed=seed))
        return engine.tasks[-1].seed

    assert ask(3, 1, 0, 7) == ask(4, 2, 1, 7)
    assert ask(3, 1, 0, 7) != ask(3, 1, 0, 8)


def test_a_closed_session_cancels_its_request_and_is_forgotten():
    engine = Counting()
    engine.submit(Request(0, [5], 3))
    engine.submit(Request(1, [6], 1))
    engine.close(0)
    assert engine.cancelled == [0]
    assert [done.session for done in engine.step()] == [1]
    assert engine.step() == []
    engine.submit(Request(0, [7], 1))
    assert engine.tasks[-1].ids == (7,)


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        (Request(0, [5], 1, entropies=True), InputError, "returns the entropy at each token; take --engine torch"),
        (Request(0, [5], 0, 0.5, forced=[3]), InputError, "at temperature 1 alone, not 0.5"),
        (Request(0, [5], 0, forced=[50]), ValueError, "forced ids must lie in"),
        (Request(0, [5] * 20, 11), ValueError, "would reach 31 tokens; the limit is 30"),
    ],
)
def test_what_cannot_be_done_is_refused(request_, error, said):
    with pytest.raises(error, match=said):
        Counting().submit(request_)


def test_a_busy_session_and_a_full_context_are_refused():
    engine = Counting(room=3)
    engine.submit(Request(0, [5], 1))
    with pytest.raises(ValueError, match="already has a request"):
        engine.submit(Request(0, [5], 1))
    with pytest.raises(InputError, match="--context below 3"):
        engine.submit(Request(1, [5], 0, forced=[6, 7]))
