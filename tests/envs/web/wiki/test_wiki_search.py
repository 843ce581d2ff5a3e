"""WikiSearch: commands, parts, budget, gold chain, milestones, snapshots; nothing of the extras is in observations."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.web.wiki.corpus import PART, Article, Sentence
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper, make


def made(seed: int = 4, **kwargs: Any) -> tuple[Any, str]:
    env = gym.make("palaestra/WikiSearch-v0", disable_env_checker=True, **{"difficulty": 0.4, **kwargs}).unwrapped
    return env, env.reset(seed=seed)[0]


def solve(env: Any) -> list[tuple[str, str, dict[str, Any]]]:
    steps, done = [], False
    while not done:
        action = env.oracle()
        observation, _, terminated, truncated, info = env.step(action)
        steps.append((action, observation, info))
        done = terminated or truncated
    return steps


def test_the_prompt_has_the_question_without_its_sentences():
    env, prompt = made()
    assert prompt.startswith(env.here().task.data.question.text)
    assert "Sentences" not in prompt
    assert "search[WORDS]" in prompt


def test_search_open_and_next_show_results_and_articles_in_parts():
    env, _ = made(size=2)
    corpus = env.corpus_of(env.here().task)
    lines = env.step("search[river of the city]")[0].splitlines()
    found = corpus.search("river of the city")
    for place, line in enumerate(lines[1:6], start=1):
        assert line.startswith(f"{place}. {corpus.articles[found[place - 1]].title}: ")
    assert "next[]" in lines[6]
    following = env.step("next[]")[0].splitlines()
    assert following[1].startswith(f"6. {corpus.articles[found[5]].title}: ")
    title = corpus.title(found[0])
    page = env.step(f"open[{title.lower()}]")[0].splitlines()
    assert page[1] == title
    assert page[2] == corpus.articles[found[0]].text
    info = env.step("next[]")[4]
    assert "no part 2" in info["action_error"]
    assert info["extras"]["tool_errors"] == [False, False, False, True]


def test_a_long_article_opens_in_parts_and_the_oracle_goes_on():
    env, _ = made(kind="bridge", hops=1, spare=3, of_kwargs={"worlds": 10**9})
    task = env.here().task
    corpus, fact = env.corpus_of(task), task.data.facts[0]
    page = corpus.articles[fact.at]
    filler = tuple(Sentence(f"Filler {letter * 300}.") for letter in "abcdefghi")
    long = Article(page.title, page.kind, (*page.sentences[:1], *filler, *page.sentences[1:]))
    corpus.articles.written[fact.at] = long  # a world that no other test meets
    actions = [action for action, _, _ in solve(env)]
    assert actions[2:-1] in (["next[]"] * 3, ["next[]"] * 4)
    assert all(len(" ".join(s.text for s in part)) <= PART for part in long.parts)


def test_the_gold_chain_is_found_by_following_links_and_is_what_progress_counts():
    for seed in range(30):
        env, prompt = made(seed=seed, difficulty=seed / 29, spare=0)
        steps = solve(env)
        extras = steps[-1][2]["extras"]
        assert steps[-1][2]["is_success"]
        assert extras["milestones"] == [len(extras["gold_documents"])] * 2
        seen = prompt
        for action, observation, _ in steps[:-1]:
            # Nothing is opened that was not shown before, or to which a name in the question leads.
            if action.startswith("open["):
                corpus, named = env.corpus_of(env.here().task), env.here().task.data.named
                leads = {corpus.title(number) for number, name in named if corpus.find(name) == number}
                assert action[5:-1] in seen or action[5:-1] in leads, action
            seen += observation
        assert [title for new in extras["achieved"] for title in new] == extras["gold_documents"]
        assert extras["atom_scores"] == [1.0] * (len(steps) - 1) or "next[]" in str(steps)
        assert extras["potentials"][0] == 0.0
        assert extras["potentials"] == sorted(extras["potentials"])
        assert [len(titles) <= 5 for titles in extras["retrieved_documents"]] == [True] * (len(steps) - 1)
        assert steps[-1][2]["progress"] == 1.0


def test_observations_do_not_tell_what_the_extras_know():
    for seed in range(20):
        env, prompt = made(seed=seed, difficulty=1.0)
        info = env.step("search[qqqq]")[4]
        extras = info["extras"]
        shown = prompt + env.step("nonsense")[0]
        named = env.here().task.data.question.text
        assert extras["reference"] not in shown or extras["reference"] in named or extras["reference"].isdigit()
        assert not any(title in shown for title in extras["gold_documents"] if title not in named)


def test_calls_without_use_score_nothing_and_repeated_ones_once():
    env, _ = made(spare=8)
    gold = env.here().needed[0]
    for action in (f"open[{gold}]", f"open[{gold}]", "search[qqqq]", "open[No such page]"):
        info = env.step(action)[4]
    assert info["extras"]["atom_scores"] == [1.0, 0.0, 0.0, 0.0]
    assert info["extras"]["retrieved_documents"] == [[gold], [gold], [], []]
    assert info["extras"]["tool_errors"] == [False, False, True, True]


def test_each_call_takes_one_of_the_budget_and_then_only_answers_are_left():
    env, _ = made(spare=0)
    calls = env.here().calls
    for left in range(calls - 1, -1, -1):
        observation = env.step("search[a]" if left % 2 else "what now?")[0]
        told = {0: "No call is left; answer now.", 1: "1 call is left before the answer."}
        assert observation.endswith(told.get(left, f"{left} calls are left before the answer."))
    assert "No call is left" in env.step("search[a]")[4]["action_error"]
    assert env.step(f"answer[{env.inner.oracle(env.here().task)}]")[4]["is_success"]


def test_an_episode_goes_on_from_a_snapshot():
    env, _ = made()
    env.step(env.oracle())
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    ends = solve(env)
    other, _ = made(seed=77)
    other.set_state(snapshot)
    assert solve(other) == ends


@pytest.mark.parametrize(
    "action",
    [
        "open[javascript:alert(1)]",
        "open[../../etc/passwd]",
        "open[" + "[" * 999,
        "search[" + "\ud800 \0 \U0001f600" + "]",
        "next[]",
    ],
)
def test_hostile_actions_are_errors_and_nothing_else(action: str):
    env, _ = made()
    observation, reward, terminated, truncated, info = env.step(action)
    assert info["action_error"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert len(observation) < 2000


def test_only_questions_about_an_encyclopaedia_can_be_searched():
    with pytest.raises(InputError, match="encyclopaedia"):
        gym.make("palaestra/WikiSearch-v0", of="palaestra/Arithmetic-v0", disable_env_checker=True)


@pytest.mark.parametrize("name", ["annealed-process", "subgoals", "potential"])
def test_rewards_read_what_the_environment_supplies(name: str):
    rewards = {}
    for useful in (True, False):
        env: Any = RewardWrapper(gym.make("palaestra/WikiSearch-v0", difficulty=0.3), make(name))
        env.reset(seed=5)
        inner = env.unwrapped
        total = 0.0
        for action in inner.plan(inner.here().task) if useful else [("search", "qqqq", 1)] * 3:
            total += env.step(f"{action[0]}[{action[1]}]")[1]
        answer = inner.inner.oracle(inner.here().task)
        total += env.step(f"<think>It is so.</think><answer>{answer}</answer>")[1]
        rewards[useful] = total
    if name == "potential":  # what shaping adds depends on the first state alone
        assert rewards[True] == pytest.approx(rewards[False])
    else:
        assert rewards[True] > rewards[False]
