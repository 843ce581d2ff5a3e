from __future__ import annotations

import math
from dataclasses import replace

import pytest
from palaestra.envs.games.twenty_questions import NAMES, PROPERTIES, TwentyQuestions, TwentyQuestionsState


def small(questions: int = 2, secret: int = 0) -> TwentyQuestions:
    """Four items: lamp (red round), vase (red square), box (blue round), bowl (blue square)."""
    env = TwentyQuestions()
    env.reset(seed=0)
    having = {"red": 0b0011, "blue": 0b1100, "round": 0b0101, "square": 0b1010}
    words = ("red round", "red square", "blue round", "blue square")
    state = TwentyQuestionsState(("lamp", "vase", "box", "bowl"), words, secret, having, questions, 0b1111)
    env.set_state({**env.get_state(), "state": state, "limit": questions + 1})
    return env


def test_words_of_the_table_do_not_mix():
    properties = [word for kind in PROPERTIES for word in kind]
    assert len({*NAMES, *properties}) == len(NAMES) + len(properties)
    assert math.prod(map(len, PROPERTIES[:3])) >= 32
    assert len(NAMES) >= 32


def test_a_game_in_words():
    env = small(secret=2)
    assert env.step("red")[0] == "red: no."
    assert env.step("Round?")[0] == "round: yes."
    observation, reward, done, _, info = env.step("box")
    assert (observation, reward, done, info["is_success"], info["progress"]) == ("box: correct.", 1.0, True, True, 1.0)


def test_there_is_one_guess_and_a_wrong_one_earns_nothing_however_near():
    env = small(secret=2)
    env.step("blue")
    observation, reward, done, truncated, info = env.step("bowl")
    assert (observation, reward, done, truncated) == ("bowl: wrong.", 0.0, True, False)
    assert info["is_success"] is False
    # One bit of two is settled; the guess would have been the third.
    assert info["progress"] == pytest.approx(1 / 3)


def test_questions_run_out():
    env = small(secret=2)
    for _ in range(2):
        assert not env.step("red")[3]
    _, reward, done, truncated, info = env.step("round")
    assert (reward, done, truncated, info["is_success"]) == (0.0, False, True, False)


@pytest.mark.parametrize(
    "word",
    ["", "green", "red blue", "lamp box", "r", "is it not red", "red or blue", "red" * 1000, "0"],
)
def test_a_word_of_neither_kind_uses_up_a_turn(word: str):
    env = small()
    *_, info = env.step(word)
    assert info["action_error"]
    assert env.here().left == 0b1111
    env.step("red")
    assert env.step("round")[3]


def table_of(prompt: str) -> dict[str, set[str]]:
    rows = [line.split(": ") for line in prompt.splitlines()[1:-1]]
    return {name: set(words.split()) for name, words in rows}


@pytest.mark.parametrize("difficulty", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_halving_finds_every_item_in_the_questions_allowed_and_hardly_fewer_would_do(difficulty: int):
    for seed in range(12):
        env = TwentyQuestions(difficulty=difficulty)
        prompt, info = env.reset(seed=seed)
        table = table_of(prompt)
        start = env.here()
        assert len({frozenset(words) for words in table.values()}) == len(table) == info["params"]["items"]
        assert {len(words) for words in table.values()} == {info["params"]["properties"]}
        assert list(table)[start.secret] == start.names[start.secret]
        asked = []
        for secret in range(len(table)):
            # Played on what the prompt says alone.
            state, hidden, count = replace(start, secret=secret), list(table)[secret], 0
            left = set(table)
            while True:
                word = env.oracle(state)
                result = env.act(state, word)
                if result.done:
                    assert result.success
                    break
                left = {name for name in left if (word in table[name]) == (word in table[hidden])}
                state, count = result.state, count + 1
                assert {name for i, name in enumerate(start.names) if state.left >> i & 1} == left
            assert word == hidden
            asked.append(count)
        assert max(asked) == start.questions - info["params"]["slack"]
        assert max(asked) >= math.log2(len(table))


def test_naming_the_items_one_by_one_does_not_pay():
    won = 0
    for seed in range(300):
        env = TwentyQuestions(difficulty=0.0)
        env.reset(seed=seed)
        won += env.step(env.here().names[0])[1]
    assert won / 300 < 0.15


@pytest.mark.parametrize("said", ["Is it red?", "Is the item red?", "Red.", "**red**"])
def test_a_property_may_be_asked_for_in_a_sentence(said: str):
    assert small().step(said) == small().step("red")


@pytest.mark.parametrize("said", ["Is it a bowl?", "the bowl", "Answer: bowl", "My guess is bowl."])
def test_an_item_may_be_named_in_a_sentence(said: str):
    assert small().step(said)[0] == small().step("bowl")[0]


def test_there_is_one_turn_for_the_guess_beside_the_questions():
    env = TwentyQuestions(difficulty=0.5)
    for seed in range(5):
        prompt, _ = env.reset(seed=seed)
        asked = env.here().questions
        assert f"at most {asked} times" in prompt
        ends = [env.step("red")[3] for _ in range(asked + 1)]
        assert ends == [False] * asked + [True]
