import palaestra
import pytest
from palaestra.agents.agent import Agent, EndEpisode
from palaestra.agents.aided_agent import AdvisedAgent, RefinedAgent
from palaestra.errors import InputError


class Recorder(Agent):
    """Answers the same, and keeps what it was shown."""

    def __init__(self, answer="go forward"):
        self.answer, self.seen = answer, []

    def act(self, observations, infos):
        self.seen += [each for each, info in zip(observations, infos, strict=True) if not info.get("idle")]
        return [None if info.get("idle") else self.answer for info in infos]


def test_advice_is_asked_for_every_so_many_observations_and_stays_until_then():
    player, advisor = Recorder(), Recorder("turn left at the door")
    agent = AdvisedAgent(player, advisor, every=3)
    for number in range(7):
        agent.act([f"view {number} of the door"], [{}])
    assert [question.splitlines()[1] for question in advisor.seen] == [f"view {n} of the door" for n in (0, 3, 6)]
    assert all(shown.endswith("[Advice]\nturn left at the door") for shown in player.seen)
    assert "last advice" not in advisor.seen[0]
    assert "Your last advice was: turn left at the door\nIt agreed 0." in advisor.seen[1]
    assert "agreed 0.00" not in advisor.seen[1]
    agent.reset([0])
    agent.act(["a new task"], [{}])
    assert "last advice" not in advisor.seen[-1]


def test_constant_advice_changes_no_reward_of_the_oracle():
    def play(agent):
        report = palaestra.evaluate(agent, "palaestra/DoorKeyText-v0", episodes=4, num_envs=2, seed=1)
        return report.success.mean, report.reward.mean, report.length.mean

    assert play(AdvisedAgent("oracle", Recorder(), every=2)) == play("oracle")


def test_only_long_output_is_summarised_and_never_the_task():
    player, refiner = Recorder(), Recorder("s" * 50)
    agent = RefinedAgent(player, refiner, longest=20)
    long = "the output of a tool, all of it"
    agent.act(["the task, which is long, too"], [{}])
    agent.act(["short", long], [{}, {"idle": True}])
    agent.act([long], [{}])
    assert player.seen == ["the task, which is long, too", "short", "[Summary]\n" + "s" * 20]
    (question,) = refiner.seen
    assert long in question
    assert question.startswith("Somebody works on this task:\nthe task")
    refiner.answer = EndEpisode()
    agent.act([long], [{}])
    assert player.seen[-1] == long


def test_both_agents_are_named_as_on_the_command_line():
    agent = palaestra.agents.as_agent("advised(agent='oracle', advisor='random', every=2)")
    report = palaestra.evaluate(agent, "palaestra/GuessNumber-v0", episodes=2)
    assert report.success.mean == 1.0
    with pytest.raises(InputError, match="every"):
        AdvisedAgent("oracle", "random", every=0)
