"""The rollout ``table``: seats are episodes of one policy, against itself, scripted players or its past copies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from palaestra.agents.grpo.batch.trajectory import Turn
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.information_sets import (
    ask_policy,
    information_sets,
    measure_exploitability,
    move_chances,
    move_gains,
)
from palaestra.agents.grpo.rollouts.table import TableRollout
from palaestra.envs.players.blind_auction import Auction
from palaestra.envs.players.hidden_game import equilibrium, expected_payoff, exploitability, follow
from palaestra.envs.players.kuhn_poker import Kuhn
from palaestra.errors import InputError

from .conftest import ARITHMETIC, read_rows  # isort: skip

KUHN = "palaestra/KuhnPoker-v0"
GAME = {"axes": {"cards": 3, "hands": 1}, "prompt": "terse"}


def legal_moves(text: str) -> list[str]:
    """The moves that the newest turn of a conversation names."""
    return text.rpartition("Your move: ")[2].split(".")[0].split(" or ")


def bold(session: int, text: str) -> str:
    """Bets, and calls every bet."""
    return next(move for move in legal_moves(text) if move in ("bet", "call"))


def split(session: int, text: str) -> str:
    """Bets in sessions of even number, and checks or folds in others."""
    return legal_moves(text)[session % 2 if "bet" in legal_moves(text) else 0]


@pytest.fixture
def kuhn(world):
    return lambda says, **fields: world(KUHN, says, options=GAME, **fields)


def points(group) -> list[float]:
    return [4 * t.outcome - 2 for t in group.trajectories]


def test_both_seats_are_episodes_whose_points_sum_to_zero(kuhn):
    w = kuhn(split)
    groups = TableRollout(measure=0).play(w.tasks(4, 4, 4), w.player)
    firsts, seconds = groups[:3], groups[3:]
    assert [group.proposal for group in groups] == [0, 1, 2, -1, -1, -1]
    assert {t.role for group in firsts for t in group.trajectories} == {"player_0"}
    assert {t.role for group in seconds for t in group.trajectories} == {"player_1"}
    for first, second in zip(firsts, seconds, strict=True):
        assert [a + b for a, b in zip(points(first), points(second), strict=True)] == [0] * 4
        # All games of a task have the same cards.
        assert len({t.turns[0].observation for t in first.trajectories}) == 1
        assert len({t.task_id for t in (*first.trajectories, *second.trajectories)}) == 1
    assert {abs(each) for group in groups for each in points(group)} <= {1.0, 2.0}
    assert set(w.player.attempts) == {0, 1, 2}


def test_a_seat_reads_the_rules_once_and_then_what_is_new(kuhn):
    def says(session, text):
        return "check" if "check" in legal_moves(text) and "first" in text else bold(session, text)

    w = kuhn(says)
    first, second = TableRollout(measure=0).play(w.tasks(1), w.player)
    opening, answer = first.trajectories[0].turns
    assert opening.observation.startswith("cards 3, first, unknown.\nYour card is ")
    assert answer.observation.startswith("Your card is ")
    assert "the other bet" in answer.observation
    assert [t.reward for t in (opening,)] == [0.0]
    assert answer.reward_terms == {"result": answer.reward}
    assert len(second.trajectories[0].turns) == 1


def test_a_seat_that_makes_no_legal_move_forfeits_and_the_other_is_not_paid(kuhn):
    w = kuhn(lambda session, text: "check" if ", first," in text else "pass")
    first, second = TableRollout(measure=0, patience=3).play(w.tasks(1), w.player)
    (guilty,) = second.trajectories
    assert first.trajectories == ()
    assert guilty.valid
    assert guilty.outcome == 0.0
    assert not guilty.success
    assert [turn.action_error for turn in guilty.turns] == ["Moves are: check, bet."] * 3


def test_a_seat_whose_context_is_used_up_forfeits(kuhn):
    from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits

    # The second turn of the first seat does not fit.
    def says(session, text):
        return "check" if "check" in legal_moves(text) and "first" in text else bold(session, text)

    w = kuhn(says, limits=TokenLimits(action=8, episode=5, context=4000))
    (first,) = TableRollout(measure=0).play(w.tasks(1), w.player)
    assert first.trajectories[0].truncated
    assert first.trajectories[0].outcome == 0.0


def test_against_a_scripted_player_one_seat_learns(kuhn):
    w = kuhn(bold)
    rollout = TableRollout(opponents="tight", measure=0)
    groups = rollout.play(w.tasks(*[4] * 8), w.player)
    assert len(groups) == 8
    assert {t.role for group in groups for t in group.trajectories} == {"player_0", "player_1"}
    won = [point for group in groups for point in points(group)]
    assert rollout.metrics()["table/score_tight"] == pytest.approx(np.mean(won) / 2)
    assert rollout.metrics()["table/elo"] != 0.0


class Copies:
    """Past copies that are all the given player."""

    def __init__(self, player: Any):
        self.names: list[str] = []
        self._player = player
        self.asked: list[str] = []

    def add(self, name: str, most: int) -> None:
        self.names = [*self.names, name][-most:]

    def player(self, name: str) -> Any:
        self.asked.append(name)
        return self._player


def test_a_league_keeps_copies_and_weak_ones_play_less_often(kuhn):
    copy, w = kuhn("pass"), kuhn(bold, step=40)
    w.player.past = Copies(copy.player)
    rollout = TableRollout(opponents=("past",), every=20, copies=2, measure=0)
    groups = rollout.play(w.tasks(2, 2), w.player)
    assert w.player.past.asked == ["past-40"]
    assert copy.sampler.requests
    assert not any(t.valid for group in groups for t in group.trajectories)
    # A copy that always loses is drawn with the least weight.
    rollout._results = {"past-40": (1.0, 9.0), "past-60": (0.0, 9.0)}
    w.player.step, w.player.past.asked = 60, []
    for step in range(60, 80):
        w.player.step = step
        rollout.play(w.tasks(1), w.player)
    assert w.player.past.asked.count("past-60") > w.player.past.asked.count("past-40")
    restored = TableRollout(opponents=("past",))
    restored.load_state_dict(rollout.state_dict())
    assert restored.state_dict() == rollout.state_dict()


def test_without_a_copy_the_policy_plays_itself(kuhn):
    w = kuhn(bold)
    w.player.past = Copies(None)
    assert len(TableRollout(opponents=("past",), measure=0).play(w.tasks(2), w.player)) == 2


@pytest.mark.parametrize(("options", "message"), [({"opponents": "strong"}, "strong"), ({}, "Arithmetic")])
def test_what_cannot_be_played_is_refused_before_a_run(options, message):
    environments = Environments(KUHN, **GAME) if options else Environments(ARITHMETIC)
    with pytest.raises(InputError, match=message):
        TableRollout(**options).check(environments)


@pytest.mark.parametrize(
    "options",
    [
        {"every": 0},
        {"patience": 0},
        {"opponents": ()},
        {"measure": -1},
        {"score": "luck"},
        {"magnet": 0.1},
        {"moves": "all"},
        {"moves": "some"},
    ],
)
def test_values_out_of_range_are_refused(options):
    with pytest.raises(InputError):
        TableRollout(**options)


def test_kuhn_poker_has_twelve_information_sets_and_leduc_288():
    from palaestra.envs.players.leduc_poker import Leduc

    assert len(information_sets(Kuhn(), {"cards": 3}, 400) or {}) == 12
    assert len(information_sets(Leduc(), Leduc.param_space.at(0.0), 400) or {}) == 288
    assert information_sets(Leduc(), Leduc.param_space.at(0.0), 100) is None


def test_the_exploitability_is_that_of_the_probabilities_that_a_model_gives(small):
    from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
    from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits

    environments = Environments(KUHN, **GAME)
    engine = small.engine(64, 512)
    engine.seed(0)
    player = EpisodePlayer(environments, engine, small.renderer, TokenLimits(8, 64, 400), 1.0, np.random.default_rng(0))
    env: Any = environments.take().unwrapped
    sets = information_sets(env.table, {"cards": 3}, 400)
    assert sets is not None
    asked, illegal = ask_policy(env, sets, (player, player))
    assert 0.9 < illegal <= 1.0  # an untrained model
    assert all(sum(row.values()) == pytest.approx(1.0) for row in asked.values())
    found = measure_exploitability(env, {"cards": 3}, (player, player), 400)
    direct = exploitability(
        env.table, (("cards", 3),), lambda position: asked[env.table.known(position, env.table.to_move(position))]
    )
    assert found == {"exploitability": pytest.approx(direct), "illegal": pytest.approx(illegal)}


def test_a_policy_that_is_told_its_moves_has_their_exploitability(kuhn):
    """A policy that always bets and calls, asked by the likelihoods of its sampler."""
    w = kuhn(bold)

    def likelihoods(contexts, answers):
        rows = []
        for context, answer in zip(contexts, answers, strict=True):
            says = w.renderer.action_ids(bold(0, w.texts(context)))
            rows.append((0.0,) * len(answer) if tuple(says) == tuple(answer) else (-40.0,) * len(answer))
        return rows

    w.player.log_likelihoods = likelihoods
    env: Any = w.environments.take().unwrapped
    found = measure_exploitability(env, {"cards": 3}, (w.player, w.player), 400)
    game = env.table
    expected = exploitability(
        game, (("cards", 3),), lambda position: {bold(0, f"Your move: {' or '.join(game.legal(position))}."): 1.0}
    )
    assert found["exploitability"] == pytest.approx(expected)
    assert found["illegal"] == pytest.approx(0.0, abs=1e-9)


def spread(chances, answers) -> list[tuple[float, ...]]:
    """Log-probabilities of answers with these probabilities, each all in its first token."""
    return [(float(np.log(p)), *(0.0,) * (len(ids) - 1)) for p, ids in zip(chances, answers, strict=True)]


def test_moves_that_are_all_next_to_impossible_have_probabilities_nevertheless():
    turns = {move: Turn((1,), (2,), (logp,), "stop", 0.0) for move, logp in (("bet", -2000.0), ("check", -2000.0))}
    assert move_chances({((), 1): turns}) == ({((), 1): {"bet": 0.5, "check": 0.5}}, 1.0)


def uniform_strategy() -> dict[Any, dict[str, float]]:
    sets = information_sets(Kuhn(), {"cards": 3}, 400) or {}
    return {known: dict.fromkeys(Kuhn().legal(position), 0.5) for known, position in sets.items()}


def test_a_moves_gain_is_what_it_earns_more_than_the_mean_move():
    """Against uniform play, by hand."""
    uniform = uniform_strategy()
    gains = move_gains(Kuhn(), {"cards": 3}, uniform, uniform, 0.0)
    # Card 3 to a bet: call for 2, fold for -1. Card 1: call for -2. Card 2: call for (2 - 2) / 2 = 0.
    assert gains[("bet",), 3] == pytest.approx({"call": 1.5, "fold": -1.5})
    assert gains[("bet",), 1] == pytest.approx({"call": -0.5, "fold": 0.5})
    assert gains[("bet",), 2] == pytest.approx({"call": 0.5, "fold": -0.5})
    # Card 3 first: bet for (2 + 1) / 2; check for 1, or after a bet (2 - 1) / 2: 3/4.
    assert gains[(), 3] == pytest.approx({"check": -0.375, "bet": 0.375})
    assert all(sum(row.values()) == pytest.approx(0.0) for row in gains.values())
    # A magnet takes off what the move's probability has over the magnet's: ln(.5 / .8) and ln(.5 / .2) at a tenth.
    magnet = {known: dict(zip(row, (0.8, 0.2), strict=True)) for known, row in uniform.items()}
    drawn = move_gains(Kuhn(), {"cards": 3}, uniform, magnet, 0.1)
    pull = 0.1 * (np.log(0.8) - np.log(0.2)) / 2
    assert drawn[("bet",), 3] == pytest.approx({"call": 1.5 + pull, "fold": -1.5 - pull})
    # In an equilibrium nothing gains.
    best = equilibrium(Kuhn(), (("cards", 3),), 400)
    assert (
        max(gain for row in move_gains(Kuhn(), {"cards": 3}, best, best, 0.0).values() for gain in row.values()) < 0.01
    )


def test_the_gain_of_a_sealed_bid_is_the_mean_over_the_others_bids():
    """Two points of worth, bids 0 to 2, both seats bidding uniformly, by hand: a bid of 0 loses (1.5 - 1) / 3 + (1.5 -
    2) / 3 = 0; one of 1 wins worth - 1 in a third, and loses -0.5 in another; one of 2 wins worth - 2 in two thirds."""
    sets = information_sets(Auction(), {"worth": 2}, 400) or {}
    assert set(sets) == {((), 1), ((), 2), (("",), 1), (("",), 2)}
    uniform = {known: dict.fromkeys("012", 1 / 3) for known in sets}
    gains = move_gains(Auction(), {"worth": 2}, uniform, uniform, 0.0)
    for history in ((), ("",)):
        for worth, values in ((1, (0.0, 1 / 6, -2 / 3)), (2, (0.0, 1 / 2, 0.0))):
            wanted = {bid: value - sum(values) / 3 for bid, value in zip("012", values, strict=True)}
            assert gains[history, worth] == pytest.approx(wanted)


def test_gains_with_a_magnet_lead_the_last_policy_to_an_equilibrium_and_without_one_do_not():
    """Multiplicative weights on the gains, with the magnet renewed every 25 updates."""

    def play(magnet: float) -> float:
        strategy = old = uniform_strategy()
        for update in range(250):
            old = strategy if update % 25 == 0 else old
            gains = move_gains(Kuhn(), {"cards": 3}, strategy, old, magnet)
            raised = {k: {m: p * np.exp(gains[k][m]) for m, p in row.items()} for k, row in strategy.items()}
            strategy = {k: {m: p / sum(row.values()) for m, p in row.items()} for k, row in raised.items()}
        return exploitability(Kuhn(), (("cards", 3),), follow(Kuhn(), strategy))

    assert play(0.2) < 0.02
    assert play(0.0) > 0.05


def test_with_advantages_each_move_is_paid_what_it_gains_and_an_illegal_reply_costs_the_game(kuhn):
    w = kuhn(lambda session, text: split(session, text) if session % 3 else "pass")
    uniform = uniform_strategy()
    w.player.log_likelihoods = lambda contexts, answers: spread([0.5] * len(answers), answers)
    rollout = TableRollout(measure=0, score="advantage", magnet=0.2)
    groups = rollout.play(w.tasks(*[6] * 6), w.player)
    gains = move_gains(Kuhn(), {"cards": 3}, uniform, uniform, 0.2)
    seen = set()
    for turn in (turn for group in groups for t in group.trajectories for turn in t.turns):
        card = int(turn.observation.partition("Your card is ")[2][0])
        said = turn.observation.partition("So far: ")[2].partition(".")[0]
        history = tuple(part.split()[-1] for part in said.split(", ")) if said else ()
        expected = -2.0 if turn.action_error else gains[history, card][turn.action]
        assert turn.reward == pytest.approx(expected / 4)
        seen.add((bool(turn.action_error), len(history)))
    assert {(True, 0), (False, 0), (False, 1)} <= seen
    # The outcome that the teacher learns is that of the game.
    assert {t.outcome for attempts in w.player.attempts.values() for t in attempts} >= {0.0, 0.25}
    # The magnet is saved, and used until it is renewed.
    state = json.loads(json.dumps(rollout.state_dict()))
    restored = TableRollout(measure=0, score="advantage", magnet=0.2)
    restored.load_state_dict(state)
    assert restored._magnets == {(("cards", 3),): uniform}
    w.player.step = 1
    w.player.log_likelihoods = lambda contexts, answers: spread([0.75, 0.25] * (len(answers) // 2), answers)
    restored.play(w.tasks(1), w.player)
    assert restored._magnets == {(("cards", 3),): uniform}
    w.player.step = 25
    restored.play(w.tasks(1), w.player)
    assert restored._magnets != {(("cards", 3),): uniform}


def test_all_moves_are_weighed_by_their_gains_however_improbable_they_are(kuhn):
    w = kuhn(split)
    w.player.log_likelihoods = lambda contexts, answers: spread([0.9, 0.001] * (len(answers) // 2), answers)
    groups = TableRollout(measure=0, score="advantage", moves="all", magnet=0.2).play(w.tasks(8, 8), w.player)
    assert [group.proposal for group in groups] == [0, 1]
    episodes = [t for group in groups for t in group.trajectories]
    assert len(episodes) == 24
    assert {t.role for t in episodes} == {"player_0", "player_1"}
    pairs = [[t.turns[0] for t in episodes[n : n + 2]] for n in range(0, 24, 2)]
    for likely, rare in pairs:
        assert likely.reward_terms["advantage"] == pytest.approx(-rare.reward_terms["advantage"])
        assert (likely.reward_terms["legal"], rare.reward_terms["legal"]) == pytest.approx(
            (0.45 / 0.901, 0.0005 / 0.901)
        )
        assert w.renderer.action(likely.act_ids) == likely.action in legal_moves(likely.observation)
    gains = move_gains(
        Kuhn(),
        {"cards": 3},
        *[
            {k: dict(zip(r, (0.9 / 0.901, 0.001 / 0.901), strict=True)) for k, r in uniform_strategy().items()},
            uniform_strategy(),
        ],
        0.2,
        level=True,
    )
    for _, rare in pairs:
        card = int(rare.observation.partition("Your card is ")[2][0])
        said = rare.observation.partition("So far: ")[2].partition(".")[0]
        history = tuple(part.split()[-1] for part in said.split(", ")) if said else ()
        assert rare.reward_terms["advantage"] == pytest.approx(gains[history, card][rare.action] / 4)


def test_a_bluff_that_has_died_out_comes_back_with_all_moves_and_not_with_played_ones():
    """The likeliest bet with the lowest card within 60 updates of a softmax policy that bets with the highest card
    alone, and folds all others to a bet."""

    def play(every: bool) -> float:
        highest = 0.0
        logits = {known: {move: 0.0 for move in row} for known, row in uniform_strategy().items()}
        for (_, card), row in logits.items():
            row[("bet" if card == 3 else "check") if "check" in row else ("call" if card == 3 else "fold")] = 8.0
        for _ in range(60):
            strategy = {}
            for known, row in logits.items():
                total = sum(np.exp(x) for x in row.values())
                strategy[known] = {move: float(np.exp(x) / total) for move, x in row.items()}
            highest = max(highest, strategy[(), 1]["bet"])
            gains = move_gains(Kuhn(), {"cards": 3}, strategy, strategy, 0.0, level=every)
            for known, row in logits.items():
                for move in row:
                    row[move] += 0.5 * gains[known][move] * (1.0 if every else strategy[known][move])
        return highest

    assert play(every=False) < 0.01
    assert play(every=True) > 0.9


def test_a_typed_run_learns_from_both_seats(train):
    words = ["--axis", "cards=3", "hands=1", "--rollout", "table(measure=1)", "--recipe", "rae"]
    run = train(KUHN, *words, "--prompts", "2", "--max-new-tokens", "4")
    (row,) = read_rows(run, "metrics")
    assert 0.0 < row["table/exploitability"] < 2.0
    assert row["table/forfeits"] == 1.0
    assert {r["role"] for r in read_rows(run, "trajectories")} == {"player_0"}


def test_the_episodes_of_both_seats_give_the_gradient_of_their_payoffs(kuhn):
    """The mean of advantage x score over the games of a uniform policy is the derivative of the expected payoff with
    respect to the log-odds of each move, within four standard errors, at every information set."""
    rng = np.random.default_rng(0)
    w = kuhn(lambda session, text: legal_moves(text)[int(rng.integers(2))])
    groups = TableRollout(measure=0).play(w.tasks(*[10] * 60), w.player)
    scores: dict[str, list[float]] = {}
    for group in groups:
        for t in group.trajectories:
            for turn in t.turns:
                known = turn.observation.partition("Your card")[2]
                first = legal_moves(turn.observation)[0]
                # Against the mean of the group without the episode itself.
                others = [o.outcome for o in group.trajectories if o is not t]
                gain = 4 * (t.outcome - float(np.mean(others)))
                scores.setdefault(known, []).append(gain * (0.5 if turn.action == first else -0.5))
    game, params = Kuhn(), (("cards", 3),)
    env: Any = w.environments.take().unwrapped
    sets = information_sets(game, {"cards": 3}, 400) or {}
    assert len(sets) == len(scores) == 12
    for known, position in sets.items():
        seat = game.to_move(position)
        assert seat is not None

        def payoff(odds: float, known=known, seat=seat) -> float:
            def choose(at):
                moves = game.legal(at)
                here = game.to_move(at) == seat and game.known(at, seat) == known
                share = 1 / (1 + np.exp(-odds)) if here else 0.5
                return dict(zip(moves, (share, 1 - share), strict=True))

            return (1 if seat == 0 else -1) * expected_payoff(game, params, (choose, choose))

        exact = (payoff(1e-4) - payoff(-1e-4)) / 2e-4
        found = np.array(scores[env.show(position, seat).partition("Your card")[2]])
        games = 600  # of each seat; the deals are uniform, so games without this set add nothing
        error = found.std() * np.sqrt(len(found)) / games
        assert abs(found.sum() / games - exact) < 4 * error
