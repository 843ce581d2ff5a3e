"""Worked examples before a question: which they are, and how they are written for a model."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import palaestra
import pytest
from palaestra.agents import Agent, LanguageAgent
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.renderer import renderer_for
from palaestra.agents.language.tiny import TinyShape, tiny_model
from palaestra.agents.shots import FewShotPrompt, ShotsWrapper
from palaestra.errors import InputError
from palaestra.rewards import verify

PROMPT = FewShotPrompt((("1+1", "2"), ("2+3", "5")), "4+4")
ARITHMETIC = "palaestra/Arithmetic-v0"


def make(env: str = ARITHMETIC, shots: int = 3, split: str = "train", **options: Any) -> ShotsWrapper:
    def plain(split: str) -> Any:
        return gymnasium.make(env, disable_env_checker=True, split=split, **options)

    return ShotsWrapper(plain(split), shots, lambda: plain("train"))


def base_tokenizer(chat: bool = False) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "ĊĊ"]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    core = Tokenizer(models.BPE(vocabulary, [("Ċ", "Ċ")]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>")
    if chat:
        tokenizer.chat_template = (
            "{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}"
        )
    return tokenizer


def test_a_prompt_is_the_text_and_remembers_its_parts():
    assert PROMPT == "1+1\n2\n\n2+3\n5\n\n4+4"
    again = pickle.loads(pickle.dumps(PROMPT))
    assert isinstance(again, FewShotPrompt)
    assert (again, again.examples, again.question) == (PROMPT, (("1+1", "2"), ("2+3", "5")), "4+4")


def test_a_base_model_reads_examples_as_text_and_ends_its_answer_with_the_line():
    tokenizer = base_tokenizer()
    renderer = renderer_for(tokenizer).for_examples()
    assert list(renderer.observation(PROMPT, first=True)) == tokenizer(f"{PROMPT}\n").input_ids
    newline, blank = tokenizer.convert_tokens_to_ids(["Ċ", "ĊĊ"])
    assert set(renderer.stop_ids) == {newline, blank, tokenizer.eos_token_id}
    assert renderer.action_ids("8") == (tokenizer.convert_tokens_to_ids("8"), newline)
    assert renderer.action(renderer.action_ids("8")) == "8"
    assert renderer.action((tokenizer.convert_tokens_to_ids("8"), blank)) == "8"
    assert renderer_for(tokenizer).stop_ids == (tokenizer.eos_token_id,)
    assert renderer.for_examples() is renderer


def test_a_base_model_gets_no_answers_of_several_lines():
    renderer = renderer_for(base_tokenizer()).for_examples()
    with pytest.raises(InputError, match="has several lines"):
        renderer.observation(FewShotPrompt((("1+1", "a\nb"),), "4+4"), first=True)


@pytest.mark.parametrize("system", [None, "be brief"])
def test_a_chat_model_reads_examples_as_turns(system):
    tokenizer = base_tokenizer(chat=True)
    renderer = renderer_for(tokenizer, system=system).for_examples()
    messages = [{"role": "system", "content": system}] if system else []
    for number, text in enumerate(("1+1", "2", "2+3", "5", "4+4")):
        messages.append({"role": "assistant" if number % 2 else "user", "content": text})
    whole = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert list(renderer.observation(PROMPT, first=True)) == whole
    several = FewShotPrompt((("1+1", "a\nb"),), "4+4")
    assert "[assistant]a\nb</s>" in tokenizer.decode(renderer.observation(several, first=True))


@pytest.mark.parametrize("split", ["train", "test"])
def test_examples_are_other_training_tasks_with_the_same_parameters_and_right_answers(split):
    env = make(split=split, axes={"digits": 1, "terms": 2})
    training = gymnasium.make(ARITHMETIC, split="train", disable_env_checker=True)
    for seed in range(5):
        prompt, info = env.reset(seed=seed)
        assert isinstance(prompt, FewShotPrompt)
        assert len({prompt.question, *(asked for asked, _ in prompt.examples)}) == 4
        for asked, answer in prompt.examples:
            assert verify("integer", answer, eval(asked.removeprefix("What is ").split("?")[0])).success
        assert env.observation_space.contains(prompt)
        drawn = {training.reset(seed=each, options={"params": info["params"]})[0] for each in range(500)}
        assert drawn >= {asked for asked, _ in prompt.examples}


def test_examples_are_fixed_by_the_seed_of_the_episode():
    first, second = make(), make()
    second.reset(seed=9)
    assert first.reset(seed=5)[0].examples == second.reset(seed=5)[0].examples
    assert first.reset(seed=5)[0].examples != first.reset(seed=6)[0].examples
    assert isinstance(first.reset()[0], FewShotPrompt)


def test_the_question_is_the_one_without_examples():
    env = gymnasium.make(ARITHMETIC, split="test", disable_env_checker=True)
    for seed in range(5):
        assert make(split="test").reset(seed=seed)[0].question == env.reset(seed=seed)[0]


def test_games_and_too_many_examples_are_refused():
    with pytest.raises(InputError, match="takes several turns"):
        make("palaestra/GuessNumber-v0").reset(seed=0)
    small = make("palaestra/GSM8K-v0", shots=400)
    with pytest.raises(InputError, match=r"400 examples were asked for, but only \d+ training tasks"):
        small.reset(seed=0)
    with pytest.raises(InputError, match="shots"):
        make(shots=0)


class Reader(Agent):
    """Keeps what it reads."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def act(self, observations: Any, infos: Any) -> list[str]:
        self.seen += [text for text, info in zip(observations, infos, strict=True) if not info.get("idle")]
        return ["0"] * len(observations)


def test_evaluate_shows_examples(tmp_path):
    reader = Reader()
    palaestra.evaluate(reader, ARITHMETIC, episodes=4, shots=2, out=tmp_path / "played.jsonl")
    assert [len(text.examples) for text in reader.seen] == [2] * 4
    for shots in (0, 3):
        with pytest.raises(InputError, match="was begun with shots 2"):
            palaestra.evaluate(reader, ARITHMETIC, episodes=4, shots=shots, out=tmp_path / "played.jsonl", resume=True)
    plain = Reader()
    palaestra.evaluate(plain, ARITHMETIC, episodes=4)
    assert [text.question for text in reader.seen] == plain.seen
    with pytest.raises(InputError, match="an environment with splits"):
        palaestra.evaluate(reader, lambda: gymnasium.make(ARITHMETIC), episodes=1, shots=2)


SHAPE = TinyShape(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=512)


def test_a_base_models_agent_stops_at_the_line_once_it_is_shown_examples():
    language = LanguageModel.of(*tiny_model(0, SHAPE, base_tokenizer()))
    agent = LanguageAgent(language, max_new_tokens=40, slots=2)
    assert agent.language.renderer.stop_ids == (1,)
    palaestra.evaluate(agent, ARITHMETIC, episodes=2, shots=2)
    assert len(agent.language.renderer.stop_ids) == 3
    report = palaestra.evaluate(LanguageAgent(language, max_new_tokens=40, context=48), ARITHMETIC, episodes=2, shots=4)
    assert report.invalid == 2  # examples leave no room


def test_a_run_shows_examples_and_counts_their_tokens(tmp_path):
    from palaestra.agents.grpo.config import TrainConfig
    from palaestra.agents.grpo.learner import Learner
    from palaestra.agents.grpo.settings import WarmUp

    LanguageModel.of(*tiny_model(0, SHAPE, base_tokenizer())).save(tmp_path / "model")
    few: dict[str, Any] = {"steps": 1, "prompts": 2, "samples": 2, "final_episodes": 2, "max_new_tokens": 4}
    config = TrainConfig(
        model=str(tmp_path / "model"), shots=2, warmup=WarmUp(steps=0), threads=1, track=(), env=ARITHMETIC, **few
    )
    learner = Learner.start(tmp_path / "run", config)
    for split in ("train", "test"):
        prompt, _ = learner.parts.evaluations.environments(split).take().reset(seed=0)
        assert len(prompt.examples) == 2
    assert len(learner.language.renderer.stop_ids) == 3
    learner.run()
    learner.close()
    assert len(LanguageAgent(tmp_path / "run").language.renderer.stop_ids) == 3
    with pytest.raises(InputError, match=r"first observation of \d+ tokens .* exceed the context"):
        Learner.start(tmp_path / "long", TrainConfig(**{**vars(config), "shots": 20, "context": 256}))
