from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.recipes.stages import SOURCES

from .supplies import supply, tasks


def test_what_a_reward_asks_for_is_in_the_stream_but_not_trained():
    drawn = SOURCES["passages"]().draw(supply(1, tasks(3, 4, 3)))
    turns = [group.trajectories[0].turns[0] for group in drawn]
    assert len(turns) == 2  # one of each passage
    for number, turn in zip((3, 4), turns, strict=True):
        text = f"the text {number} goes on"
        assert "".join(map(chr, (*turn.obs_ids, *turn.act_ids))) == text
        trained = [origin == Origin.TEACHER for origin in turn.origins]
        assert sum(trained) == len(text) - 1 - len(" goes")
        assert "".join(chr(i) for i, one in zip(turn.act_ids, trained, strict=True) if not one) == " goes"
    assert [len(g.trajectories[0].turns[0].act_ids) for g in SOURCES["passages"]().draw(supply(1, tasks(3), context=5))
            ] == [4]  # fmt: skip
