import itertools

import numpy as np
import pytest
from palaestra.agents.engines.sampler import Request
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, TokenLimits
from palaestra.agents.grpo.rollouts.trie_beams import TrieBeams, make_trie, search_beams
from palaestra.errors import InputError

CHOICES = {"of": "palaestra/Arithmetic-v0"}


@pytest.fixture(scope="module")
def player(small):
    environments = Environments("palaestra/MultipleChoice-v0", **CHOICES)
    sizes = TokenLimits(action=16, episode=16, context=500)
    rng = np.random.default_rng(0)
    return EpisodePlayer(environments, small.engine(16, 500), small.renderer, sizes, 0.7, rng)


def task_of(player, samples):
    params = player.environments.param_space.at(0.0)
    return RolloutTask(params, 3, samples, 0)


def test_a_group_holds_different_answers_that_the_task_admits_in_order_of_likelihood(player, small):
    (group,) = TrieBeams().play([task_of(player, 3)], player)
    answers = [t.turns[0].action for t in group.trajectories]
    assert len(set(answers)) == 3
    assert set(answers) <= set("ABCD")
    assert [t.extras["beam_rank"] for t in group.trajectories] == [0, 1, 2]
    prompt = group.trajectories[0].turns[0].obs_ids
    letters = {letter: player.log_likelihoods([prompt], [small.renderer.action_ids(letter)])[0][0] for letter in "ABCD"}
    assert answers == sorted(letters, key=lambda letter: -letters[letter])[:3]
    # The behaviour log-probabilities are the policy's own, at the temperature of the run.
    turn = group.trajectories[0].turns[0]
    engine = small.engine(1, 500)
    engine.submit(Request(0, prompt, 0, 0.7, forced=turn.act_ids))
    assert turn.logps == pytest.approx(engine.step()[0].logps, abs=1e-4)
    assert turn.token_origins == (0,) * len(turn.act_ids)
    (group,) = TrieBeams().play([task_of(player, 9)], player)
    assert len({t.turns[0].action for t in group.trajectories}) == len(group.trajectories) == 4


def test_a_search_wide_enough_finds_the_order_of_all_answers(player, small):
    texts = ["".join(letters) for n in (1, 2) for letters in itertools.product("ab", repeat=n)] + ["a long one"]
    allowed = [tuple(small.renderer.action_ids(text)) for text in texts]
    prompt, trie = small.renderer.observation("say", first=True), make_trie(allowed)

    def score(ids):
        """The sum of the tokens' log-probabilities, each among the tokens that the trie admits there."""
        total, node = 0.0, trie
        for place, token in enumerate(ids):
            (own, *_), *others = player.log_likelihoods(
                [(*prompt, *ids[:place])] * (1 + len(node)), [(token,), *((child,) for child in node)]
            )
            total += own - np.logaddexp.reduce([other[0] for other in others])
            node = node[token]
        return total

    beams = search_beams(trie, prompt, len(texts), player)
    assert beams == sorted(allowed, key=lambda ids: -score(ids))
    assert search_beams(trie, prompt, 2, player)[0] in allowed


def test_answers_come_from_a_list_where_the_environment_names_none(tmp_path):
    (tmp_path / "answers.txt").write_text("one\n\ntwo\n")
    assert TrieBeams(answers=str(tmp_path / "answers.txt"))._listed == ["one", "two"]
    assert TrieBeams(answers="yes|no")._listed == ["yes", "no"]
    sums = Environments("palaestra/Arithmetic-v0")
    TrieBeams(answers="1|2").check(sums)
    with pytest.raises(InputError, match="does not name the answers"):
        TrieBeams().check(sums)
    with pytest.raises(InputError, match="is no file"):
        TrieBeams(answers="nowhere.txt")
