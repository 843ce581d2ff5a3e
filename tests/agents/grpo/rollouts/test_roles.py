"""Scripts of roles: who speaks about what, who sees what, and what pays whom."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.protocols import Debate, Panel, PioneerObserver, ProposerSolverJudge, RolesOfFile
from palaestra.agents.grpo.rollouts.scripts import READS, RoleScript, ScriptLine, panel, read_script
from palaestra.errors import InputError

from .conftest import ARITHMETIC, GUESS, answer_of  # isort: skip

TERSE = {"prompt": "terse"}


def by_role(groups):
    """Role -> its episodes, in order."""
    found = {}
    for group in groups:
        for trajectory in group.trajectories:
            found.setdefault(trajectory.role, []).append(trajectory)
    return found


def debater(right, marks):
    """Says the answer, a critique, and the marks in turn."""
    given = iter(marks)

    def says(session, text):
        if "Mark the solution" in text:
            return next(given)
        return "It is wrong." if "Find the flaws" in text else right

    return says


def test_a_debate_pays_solution_and_critique_by_the_mark_and_they_sum_to_one(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, debater(right, ["1", "Mark: 3", "2", "none"]))
    groups = Debate(rounds=1).play(w.tasks(4), w.player)
    assert [group.proposal for group in groups] == [0, -1, -1]
    roles = by_role(groups)
    assert [t.outcome for t in roles["solver"][:3]] == [0.0, 1.0, 0.5]
    assert [t.outcome for t in roles["critic"][:3]] == [1.0, 0.0, 0.5]
    assert [t.outcome for t in roles["scorer"]] == [0.0, 0.0, 0.0, -1.0]
    # A mark that cannot be read pays nobody but the scorer.
    assert [t.valid for t in roles["solver"]] == [t.valid for t in roles["critic"]] == [True, True, True, False]
    assert [t.env_return for t in w.player.attempts[0]] == [1.0] * 4
    # The truth is reported, whatever pays: the answer is right, so marks of 2 and 3 agree with it.
    assert all(t.success for t in roles["solver"])
    assert [t.success for t in roles["scorer"]] == [False, True, True, False]


def test_the_critic_sees_the_solution_and_the_scorer_both(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, debater(right, ["3"]))
    roles = by_role(Debate(rounds=1).play(w.tasks(1), w.player))
    question = roles["solver"][0].turns[0].observation
    assert question in roles["critic"][0].turns[0].observation
    assert f"Solution: {right}" in roles["critic"][0].turns[0].observation
    assert "Critique: It is wrong." in roles["scorer"][0].turns[0].observation
    assert "Critique" not in roles["critic"][0].turns[0].observation


def test_a_later_round_shows_the_past_rounds_of_the_own_branch_up_to_the_horizon(world):
    def says(session, text):
        if "Mark the solution" in text:
            return "2"
        return f"flaw {session}" if "Find the flaws" in text else f"answer {session}"

    w = world(ARITHMETIC, says)
    rollout = Debate(rounds=3, horizon=1)
    roles = by_role(rollout.play(w.tasks(2), w.player))
    solver = roles["solver"]
    assert len(solver) == 6
    first, second, third = solver[0], solver[2], solver[4]
    assert first.turns[0].action in second.turns[0].observation
    assert second.turns[0].action in third.turns[0].observation
    assert first.turns[0].action not in third.turns[0].observation  # beyond the horizon
    assert solver[1].turns[0].action not in second.turns[0].observation  # another branch


def test_the_agents_of_a_debate_are_drawn_for_each_role_and_their_policies_speak(world):
    """In a round of a task, three of four agents speak, each of them once, and all samples have the same speaker."""
    players = {f"agent_{number}": world(ARITHMETIC, lambda *_, number=number: str(number)).player for number in (1, 2)}
    w = world(ARITHMETIC, "3")  # agents 0 and 3
    w.player._others = players
    groups = Debate(rounds=1, agents=4).play(w.tasks(*[2] * 30), w.player)
    solvers = [group for group in groups if group.trajectories[0].role == "solver"]
    agents = [{t.extras["agent"] for t in group.trajectories} for group in solvers]
    assert all(len(each) == 1 for each in agents)
    assert set().union(*agents) == {"agent_0", "agent_1", "agent_2", "agent_3"}
    for group in groups:
        for t in group.trajectories:
            spoken = t.turns[0].action
            assert spoken == (t.extras["agent"][-1] if t.extras["agent"] in players else "3")
    for solver, critic, scorer in zip(groups[:30], groups[30::2], groups[31::2], strict=True):
        assert len({g.trajectories[0].extras["agent"] for g in (solver, critic, scorer)}) == 3


def test_marks_that_are_stuck_at_the_highest_are_shown(world):
    right = answer_of(world(ARITHMETIC, ""))
    w = world(ARITHMETIC, debater(right, ["3"] * 4))
    rollout = Debate(rounds=1)
    rollout.play(w.tasks(4), w.player)
    assert rollout.metrics() == {"roles/unread_scorer": 0.0, "roles/highest_scorer": 1.0}


def evolver(quality, scores):
    """Proposes a question, and judges it and the answers."""
    given = iter(scores)

    def says(session, text):
        if "Write a new question" in text:
            return "<question>1 + 1?</question>"
        if "Judge the question" in text:
            return f"<score>{quality}</score>"
        if "Judge the answer" in text:
            return f"<score>{next(given)}</score>"
        return "<answer>2</answer>"

    return says


@pytest.mark.parametrize(("quality", "reward", "kept"), [(9, 0.8333, ["1 + 1?"]), (6, 0.5333, [])])
def test_a_proposer_earns_quality_difficulty_and_form(world, quality, reward, kept):
    # Two answers to the environment's question come first, then two to the proposed one, whose mean score is .4.
    w = world(ARITHMETIC, evolver(quality, [10, 0, 3, 5]))
    rollout = ProposerSolverJudge()
    roles = by_role(rollout.play(w.tasks(2), w.player))
    (proposer,) = roles["proposer"]
    assert proposer.outcome == pytest.approx(reward, abs=1e-4)
    assert rollout.state_dict().get("pool", []) == kept
    # The mean of the score and the form; judges get their form alone, whatever they say.
    assert [t.outcome for t in roles["solver"]] == pytest.approx([1.0, 0.5, 0.65, 0.75])
    assert [t.outcome for t in roles["judge"]] == [1.0] * 5
    restored = ProposerSolverJudge()
    restored.load_state_dict(rollout.state_dict())
    assert restored.state_dict() == rollout.state_dict()


def test_an_unreadable_proposal_is_worth_nothing_and_nobody_answers_it(world):
    w = world(ARITHMETIC, lambda session, text: "<score>5</score>" if "Judge" in text else "hello")
    roles = by_role(ProposerSolverJudge().play(w.tasks(2), w.player))
    assert [(t.valid, t.outcome) for t in roles["proposer"]] == [(True, 0.0)]
    assert len(roles["solver"]) == 2
    assert roles["proposer"][0].turns[0].action_error == "The text has no question."


def test_questions_of_the_pool_are_examples_for_the_proposer(world):
    w = world(ARITHMETIC, evolver(9, [5] * 99))
    rollout = ProposerSolverJudge(pool=1)
    rollout.load_state_dict({"pool": ["old question", "newer question"]})
    for _ in range(6):
        rollout.play(w.tasks(1, 1), w.player)
    asked = [w.texts(ids) for ids in w.sampler.seen.values()]
    assert any("Example: old question" in text or "Example: newer question" in text for text in asked)
    assert rollout.state_dict() == {"pool": ["1 + 1?"]}


def test_pioneer_and_observer_get_the_sum_of_both_rewards(world):
    right = answer_of(world(ARITHMETIC, ""))

    def says(session, text):
        if "Another answer" in text:
            return right if f"is: {right}" in text else "0"
        return right if session == 0 else "1"

    w = world(ARITHMETIC, says)
    roles = by_role(PioneerObserver().play(w.tasks(2), w.player))
    assert [t.outcome for t in roles["pioneer"]] == [t.outcome for t in roles["observer"]] == [2.0, 0.0]
    assert [t.success for t in roles["observer"]] == [True, False]
    assert roles["observer"][0].turns[0].reward_terms["partner"] == 1.0
    # The curriculum's teacher learns what the environment gave.
    assert [t.env_return for t in w.player.attempts[0]] == [1.0, 0.0]


def test_the_roles_of_pioneer_and_observer_change_policies_every_five_updates(world):
    other, w = world(ARITHMETIC, "other"), world(ARITHMETIC, "own")
    w.player._others = {"observer": other.player}
    for step, pioneer in ((0, "own"), (4, "own"), (5, "other"), (9, "other"), (10, "own")):
        w.player.step = step
        roles = by_role(PioneerObserver(swap=5).play(w.tasks(1), w.player))
        assert roles["pioneer"][0].turns[0].action == pioneer
        assert roles["observer"][0].turns[0].action == {"own": "other", "other": "own"}[pioneer]


def test_a_panel_is_paid_for_agreement_with_its_weighted_vote(world):
    """Member 0 says A A A B (consistency .75), member 1 B B A C (.5): A has 2.75 and B 1.75."""
    answers = iter("AAABBBAC")
    w = world(ARITHMETIC, lambda session, text: next(answers))
    roles = by_role(Panel(members=2).play(w.tasks(4), w.player))
    assert [t.outcome for t in roles["member_0"]] == [1, 1, 1, 0]
    assert [t.outcome for t in roles["member_1"]] == [0, 0, 1, 0]


def test_a_script_of_a_file_is_played(world, tmp_path):
    (tmp_path / "script.toml").write_text(
        """
reported = "second"
[pays]
first = ""
[[lines]]
role = "first"
says = "Give a hint for: {question}"
[[lines]]
role = "second"
says = "{question} Hint: {first}"
about = "first"
count = 0
kind = "answer"
""",
        encoding="utf-8",
    )
    w = world(ARITHMETIC, "5")
    second, first = RolesOfFile(str(tmp_path / "script.toml")).play(w.tasks(3), w.player)
    assert second.proposal == 0
    assert [t.role for t in second.trajectories] == ["second"] * 3
    assert second.trajectories[0].turns[0].observation.endswith("Hint: 5")
    assert [t.weight for t in first.trajectories] == [0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one line"),
        ("rounds = 0\n[[lines]]\nrole = 'a'\nsays = ''", "rounds"),
        ("[[lines]]\nrole = 'a'\nsays = ''\nabout = 'b'", "'b'"),
        ("[[lines]]\nrole = 'a'\nsays = ''\n[[lines]]\nrole = 'a'\nsays = ''", "two lines"),
        ("[[lines]]\nrole = 'a'\nsays = ''\nloud = true", "loud"),
        ("reported = 'z'\n[[lines]]\nrole = 'a'\nsays = ''", "z"),
        ("[[lines]]\nsays = ''", "role"),
        ("[[lines", "cannot be read"),
        ("[[lines]]\nrole = 'a'\nsays = ''\nkind = 'song'", "song"),
    ],
)
def test_a_faulty_script_is_refused(text, message, tmp_path):
    (tmp_path / "script.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_script(tmp_path / "script.toml")


def test_a_reward_that_the_script_does_not_feed_is_refused(tmp_path):
    (tmp_path / "script.toml").write_text("[pays]\na = 'comas'\n[[lines]]\nrole = 'a'\nsays = ''", encoding="utf-8")
    with pytest.raises(InputError, match="mark"):
        RolesOfFile(str(tmp_path / "script.toml"))


def test_roles_need_a_question_that_one_answer_ends():
    Panel().check(Environments(ARITHMETIC))
    with pytest.raises(InputError, match="GuessNumber"):
        Panel().check(Environments(GUESS))


def test_a_question_that_leaves_no_room_is_counted(world):
    from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits

    w = world(ARITHMETIC, "5", limits=TokenLimits(action=8, episode=8, context=10))
    groups = Panel(members=2).play(w.tasks(1), w.player)
    assert [group.trajectories for group in groups if group.proposal == 0] == [()]
    assert w.player.overlong == {(0, w.task.seed)}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("mark", "the mark is 2", 2),
        ("mark", "4", None),
        ("mark", "", None),
        ("score", "<score>7</score>", 0.7),
        ("score", "<score>11</score>", None),
        ("score", "7", None),
        ("question", "x <question> y? </question>", "y?"),
        ("question", "<question></question>", None),
    ],
)
def test_what_is_read_from_a_text(kind, text, value):
    assert READS[kind](text) == value


def test_scripts_are_data():
    assert panel(2).roles == ("member_0", "member_1")
    assert RoleScript((ScriptLine("a", "x"),)).reported == "a"


def test_a_typed_debate_trains_every_role(train):
    from .conftest import read_rows

    run = train(ARITHMETIC, "--rollout", "debate(rounds=1)", "--prompts", "2", "--max-new-tokens", "4")
    roles = {row.get("role") for row in read_rows(run, "trajectories")}
    assert roles == {"solver", "critic", "scorer"}
    (row,) = read_rows(run, "metrics")
    assert "roles/unread_scorer" in row
