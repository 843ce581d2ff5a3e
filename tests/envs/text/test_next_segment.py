import gymnasium as gym
import pytest
from palaestra.envs.text.next_segment import GAP, continues, likeness
from palaestra.errors import InputError

STORY = """The cat sat on the mat. It looked at the door. Then it rained all day.

Nobody came home before dark. The lamp was lit at six. "Where were you?" asked the cat. Nobody answered.
"""


@pytest.fixture
def story(tmp_path):
    (tmp_path / "story.txt").write_text(STORY)
    return str(tmp_path / "story.txt")


def test_a_beginning_of_the_continuation_is_right_and_what_follows_it_is_not():
    text = "It looked at the door, and then it slept."
    assert continues("it looked AT the door", text, 3)
    assert continues(text, text, 3)
    assert not continues("and then it slept", text, 3)  # its second clause
    assert not continues("it looked", text, 3)  # too short
    assert continues("It sat.", "It sat.", 5)  # no longer text is there
    assert not continues("", text, 0)


def test_a_beginning_in_other_words_is_alike():
    text = "It looked at the door, and then it slept."
    assert likeness("it looked at the door", text, 3) == pytest.approx(1.0)
    assert likeness("then it looked at the door", text, 3) > 0.8
    assert likeness("nothing of the kind", text, 3) < 0.5
    assert likeness("", text, 3) == 0.0


def play(answer, **options):
    env = gym.make("palaestra/NextSegment-v0", split="all", **options)
    observation, info = env.reset(seed=0)
    return observation, info, env.step(answer or env.unwrapped.oracle())


def test_a_text_file_is_asked_about_sentence_by_sentence(story):
    asked = {"source": story, "before": 9, "words": 2}
    observation, info, (_, reward, *_) = play("", gap="middle", **asked)
    before, target, after = info["extras"]["passage"]
    assert observation.endswith(f"{before} {GAP} {after}")
    assert " ".join((before, target, after)) in " ".join(STORY.split())
    assert reward == 1.0
    observation, info, _ = play("", gap="next", **asked)
    before, target, after = info["extras"]["passage"]
    assert observation.endswith(before)
    assert play(f"{target} {after}", gap="next", **asked)[2][1] == 1.0  # a prediction may go on
    assert play(after, gap="next", **asked)[2][1] == 0.0
    changed = " ".join(["Well,", target])
    assert play(changed, gap="next", **asked)[2][1] == 0.0
    assert play(changed, gap="next", judge="similar", alike=0.6, **asked)[2][1] == 1.0
    assert play("", gap="next", thoughts_only=True, **asked)[0].startswith("How does this text go on?")


def test_a_source_that_cannot_be_read_is_named(story, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        gym.make("palaestra/NextSegment-v0", source=str(tmp_path / "nothing.txt"))
    (tmp_path / "short.txt").write_text("One sentence.")
    with pytest.raises(InputError, match="no passage of 3 sentences"):
        gym.make("palaestra/NextSegment-v0", source=str(tmp_path / "short.txt"))
    (tmp_path / "rows.jsonl").write_text('{"text": "One is one. Two is two. Three is three."}\n')
    gym.make("palaestra/NextSegment-v0", source=str(tmp_path / "rows.jsonl"))
    (tmp_path / "rows.jsonl").write_text('{"words": "One."}\n')
    with pytest.raises(InputError, match="no column 'text'"):
        gym.make("palaestra/NextSegment-v0", source=str(tmp_path / "rows.jsonl"))
