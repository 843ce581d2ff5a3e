"""The learner benchmark: who takes which turn, what the figures mean, and that both sides are given the same work."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import gymnasium as gym
import pytest
from palaestra.benchmarks.learner import command as benchmark
from palaestra.benchmarks.learner import our_side as ours
from palaestra.benchmarks.learner import tables
from palaestra.benchmarks.learner.trl_side import (
    encode_prompt,
    has_constant_reward,
    load_rollouts,
    load_verifier,
    lower_case_share,
    measure_success,
    score_answer,
)
from palaestra.errors import InputError

STAND_IN = """\
import json, sys
print(json.dumps({"event": "ready", "versions": {}, "peak_mb": 1.0}), flush=True)
for line in sys.stdin:
    print(json.dumps({"event": "step", "heard": line.strip()}), flush=True)
"""


def report(seconds: float, reward: float = 0.0, peak_mb: float = 1.0, **more: float) -> dict[str, float]:
    return {
        "seconds": seconds,
        "rollout_s": seconds / 4,
        "train_s": seconds * 3 / 4,
        "tokens": 100,
        "reward": reward,
        "peak_mb": peak_mb,
        **more,
    }


def settings(folder, **changes) -> benchmark.Settings:
    fields = {"prompts": 2, "samples": 2, "new_tokens": 6, "prompt_tokens": 7, "threads": 1, "folder": str(folder)}
    return benchmark.Settings("small", **{**fields, **changes})


def prepared_in(folder, **changes) -> benchmark.Settings:
    made = settings(folder, **changes)
    ours.prepare(dataclasses.asdict(made))
    return made


class TestFigures:
    def test_median_and_quartiles_of_a_ratio_are_those_of_paired_rounds(self):
        first = [report(1.0), report(2.0), report(4.0)]
        second = [report(3.0), report(2.0), report(16.0)]
        # The medians are 2 and 3, whose ratio is outside the quartiles of the rounds' ratios 3, 1 and 4.
        assert benchmark.ratios(first, second)["seconds"] == {"median": 3.0, "low": 2.0, "high": 3.5}

    def test_what_was_not_measured_has_no_ratio(self):
        assert "extra_mb" not in benchmark.ratios([report(1.0)], [report(1.0, extra_mb=3.0)])
        assert benchmark.ratios([report(1.0, extra_mb=2.0)], [report(1.0, extra_mb=3.0)])["extra_mb"]["median"] == 1.5

    def test_a_summary_takes_the_highest_peak_and_tokens_at_the_median_step(self):
        steps = [report(2.0, 0.1, 7.0), report(4.0, 0.2, 9.0), report(9.0, 0.6, 8.0)]
        summary = tables.summarise_steps(steps)
        assert summary["peak_mb"] == 9.0
        assert summary["tokens_per_s"] == 100 / 4.0
        assert (summary["reward_first"], summary["reward_last"]) == (0.1, 0.6)
        assert summary["train_s"] == {"median": 3.0, "low": 2.25, "high": 4.875}

    def test_a_table_has_a_row_a_side_and_the_ratio_below(self):
        sides = {"ours": tables.summarise_steps([report(0.5)]), "TRL": tables.summarise_steps([report(1.5)])}
        made = {"label": "here", "played": True}
        case = {"settings": made, "sides": sides, "ratios": benchmark.ratios([report(0.5)], [report(1.5)])}
        lines = tables.format_tables({"step": [case]}).splitlines()
        assert lines[2].startswith("| here, ours | 500 (500-500) | 125 | 375 | 100 | 0% | 1 |")
        assert lines[3].startswith("| here, TRL | 1500 (1500-1500) |")
        assert "step 3.00 times ours (3.00 to 3.00)" in lines[5]


class TestTask:
    def test_the_reward_is_lower_case_letters_per_token(self):
        assert lower_case_share("aB c1z", 6) == 0.5
        assert lower_case_share("", 6) == 0.0
        assert score_answer("zebra", "aB c1z", 6, flat=0.5) == 0.5

    def test_a_flat_prompt_pays_every_answer_the_same(self):
        assert [has_constant_reward(letter, 0.5) for letter in "amnz"] == [True, True, False, False]
        assert {score_answer("above", answer, 6, flat=0.5) for answer in ("", "abc", "ABC")} == {0.5}

    def test_a_prompt_has_the_asked_length_and_the_end_token_is_never_drawn(self, tmp_path):
        import torch
        from palaestra.agents.language.model import LanguageModel

        prepared_in(tmp_path)
        language = LanguageModel.load(tmp_path / "model")
        prompts = json.loads((tmp_path / "prompts.json").read_text())
        assert {len(prompt["ids"]) for prompt in prompts} == {7}
        assert len({prompt["text"] for prompt in prompts}) > 900
        assert language.tokenizer(prompts[0]["text"]).input_ids == prompts[0]["ids"]
        ids = torch.randint(5, 101, (64, 40), generator=torch.Generator().manual_seed(0))
        assert language.model(ids).logits.softmax(-1)[:, :, language.renderer.stop_ids[0]].mean() < 1e-7

    def test_the_asked_mean_length_is_that_of_the_initial_weights(self, tmp_path):
        import torch
        from palaestra.agents.language.model import LanguageModel

        prepared_in(tmp_path, mean_tokens=20)
        language = LanguageModel.load(tmp_path / "model")
        ids = torch.randint(5, 101, (64, 40), generator=torch.Generator().manual_seed(0))
        stop = language.model(ids).logits.softmax(-1)[:, :, language.renderer.stop_ids[0]]
        assert stop.mean().item() == pytest.approx(1 / 20, rel=0.05)
        # and hardly depends on what was said before
        assert stop.std().item() < 0.02

    def test_a_large_vocabulary_is_the_tokenizer_s_too(self, tmp_path):
        """Ids that the tokenizer lacks are padding, which costs our side nothing."""
        from palaestra.agents.language.model import LanguageModel

        prepared_in(tmp_path, vocabulary=3000, played=False)
        language = LanguageModel.load(tmp_path / "model")
        assert language.model.lm_head.weight.shape[0] == 3000
        assert len(language.tokenizer) == 3000
        prompt = json.loads((tmp_path / "prompts.json").read_text())[0]
        assert len(prompt["ids"]) == 7
        assert language.renderer.observation(prompt["letters"], first=True) == tuple(prompt["ids"])

    def test_ready_made_batches_have_the_asked_shape_and_share_without_variance(self, tmp_path):
        made = prepared_in(tmp_path, prompts=4, samples=3, flat=0.75, played=False, vocabulary=200)
        stream = load_rollouts(dataclasses.asdict(made))
        first, second = next(stream), next(stream)
        assert first != second
        for batch in (first, second):
            assert [len(set(group["rewards"])) for group in batch] == [1, 1, 1, 3]
            assert {len(ids) for group in batch for ids in group["completions"]} == {6}
            assert {len(group["prompt"]) for group in batch} == {7}

    def test_both_sides_score_a_completion_alike(self, tmp_path):
        ours.register_task()
        env = gym.make(ours.ENV, disable_env_checker=True, axes=ours.task_axes(dataclasses.asdict(settings(tmp_path))))
        env.reset(seed=0)
        assert env.step("aB\nc1z")[1] == lower_case_share("aB\nc1z", 6)


CHAT = (
    "{% for m in messages %}[{{ m['role'] }}\n{{ m['content'] }}]\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant\n{% endif %}"
)


def chat_tokenizer():
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "[", "]", *map(chr, range(32, 91)), *map(chr, range(97, 123)), "\n"]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(dict.fromkeys(words))}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    core.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", unk_token="<unk>", eos_token="]", clean_up_tokenization_spaces=False
    )
    made.chat_template = CHAT
    return made


def real_settings(folder, tokenizer=None, **changes) -> benchmark.Settings:
    """The part "real" in miniature, for a tiny model that is saved in the folder."""
    from palaestra.agents.language.model import LanguageModel
    from palaestra.agents.language.tiny import TinyShape, tiny_model

    LanguageModel.of(*tiny_model(0, TinyShape(32, 2, 2, 1, 16, 32), tokenizer)).save(folder / "given")
    fixed = {"threads": 1, "prompts": 2, "samples": 2, "new_tokens": 3, "held_out": 6, "folder": str(folder)}
    return dataclasses.replace(benchmark.PARTS["real"][0], **fixed, model=str(folder / "given"), **changes)


class TestRealModel:
    def test_prompts_are_of_the_training_split_and_held_out_ones_of_the_test_split(self, tmp_path, monkeypatch):
        from palaestra.integrations.core import EpisodeRow, TextEpisode

        monkeypatch.setattr(ours, "SPARE_PROMPTS", 12)
        ours.prepare(dataclasses.asdict(real_settings(tmp_path)))
        episode, texts = TextEpisode(), {}
        for name, split, count in (("prompts", "train", 12), ("held_out", "test", 6)):
            rows = json.loads((tmp_path / f"{name}.json").read_text())
            read = [EpisodeRow.read(row["row"]) for row in rows]
            assert [row.arguments["split"] for row in read] == [split] * count
            texts[name] = {episode.begin(row) for row in read}
            assert all(text in row["text"] for row, text in zip(rows, map(episode.begin, read), strict=True))
        assert not texts["prompts"] & texts["held_out"]

    def test_a_chat_template_gives_both_sides_the_same_ids(self, tmp_path, monkeypatch):
        monkeypatch.setattr(ours, "SPARE_PROMPTS", 3)
        tokenizer = chat_tokenizer()
        ours.prepare(dataclasses.asdict(real_settings(tmp_path, tokenizer, system="Calculate.")))
        for prompt in json.loads((tmp_path / "prompts.json").read_text()):
            assert [message["role"] for message in prompt["messages"]] == ["system", "user"]
            assert encode_prompt(tokenizer, prompt) == prompt["ids"]

    def test_the_environment_s_verifier_judges_the_answers_of_the_other_side(self, tmp_path, monkeypatch):
        monkeypatch.setattr(ours, "SPARE_PROMPTS", 4)
        ours.prepare(dataclasses.asdict(real_settings(tmp_path)))
        rows = [prompt["row"] for prompt in json.loads((tmp_path / "prompts.json").read_text())]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        right = []
        for row in rows:
            env = gym.make(row["env"], disable_env_checker=True, **json.loads(row["kwargs"]))
            env.reset(seed=row["seed"])
            right.append(env.unwrapped.oracle())
        answers = [right[0], [{"role": "assistant", "content": right[1]}], "100", ""]
        assert load_verifier(rows[0]["env"])(answers, columns) == [1.0, 1.0, 0.0, 0.0]

    def test_held_out_prompts_of_different_lengths_are_answered_as_if_each_were_alone(self):
        from palaestra.agents.language.tiny import TinyShape, tiny_model
        from transformers import GenerationConfig

        model, tokenizer = tiny_model(0, TinyShape(32, 2, 2, 1, 16, 32))
        held_out = [{"ids": tokenizer(text).input_ids, "row": {"seed": text}} for text in ("1 + 2", "10 - 4 + 3", "7")]
        generation = GenerationConfig(max_new_tokens=5, pad_token_id=tokenizer.pad_token_id)
        told: list[tuple[str, str]] = []

        def verify(answers, columns):
            told.extend(zip(columns["seed"], answers, strict=True))
            return [float(len(seed) > 1) for seed in columns["seed"]]

        assert measure_success(model, tokenizer, generation, held_out, 2, verify) == {
            "sampled": pytest.approx(2 / 3),
            "greedy": pytest.approx(2 / 3),
        }
        for one, (seed, answer) in zip(held_out, told[3:], strict=True):
            import torch

            alone = model.generate(torch.tensor([one["ids"]]), generation_config=generation, do_sample=False)
            assert (seed, answer) == (
                one["row"]["seed"],
                tokenizer.decode(alone[0, len(one["ids"]) :], skip_special_tokens=True),
            )

    def test_our_process_trains_on_the_environment_and_is_evaluated_on_command(self, tmp_path, monkeypatch):
        made = real_settings(tmp_path, lr_warmup=0, system="Calculate.")
        ours.prepare(dataclasses.asdict(made))

        class Commands:
            """Asks for an evaluation after the start and each of two steps."""

            evaluate = None

            def __init__(self):
                self.heard, self.found = [], []

            def report(self, **fields):
                self.heard.append(fields)
                self.found.append(self.evaluate())
                return len(self.heard) < 3

            def seconds(self):
                return 1.0

            cpu_seconds = seconds

        channel = Commands()
        monkeypatch.setattr(ours, "Channel", lambda: channel)
        ours.work(json.dumps(dataclasses.asdict(made)))
        assert [fields["event"] for fields in channel.heard] == ["ready", "step", "step"]
        assert [sorted(found) for found in channel.found] == [["greedy", "sampled"]] * 3
        assert all(0 <= value <= 1 for found in channel.found for value in found.values())
        config = json.loads((tmp_path / "shared_prefix" / "config.json").read_text())
        assert (config["env"], config["kl"], config["system"]) == (made.env, 0.0, made.system)


class TestProcesses:
    def test_evaluations_between_two_steps_are_commands_of_their_own(self, tmp_path):
        code = (
            "from palaestra.benchmarks.learner.trl_side import Channel\n"
            "channel, asked = Channel(), []\n"
            "channel.evaluate = lambda: asked.append(1) or {'sampled': len(asked)}\n"
            "step = 0\n"
            "while channel.report(versions={}, step=step): step += 1\n"
        )
        worker = benchmark.Worker("stand-in", [sys.executable, "-c", code], settings(tmp_path))
        assert [worker.evaluate()["sampled"], worker.step()["step"], worker.step()["step"]] == [1, 1, 2]
        assert worker.evaluate()["sampled"] == 2
        worker.close()

    def test_a_worker_sends_a_command_and_receives_a_report(self, tmp_path):
        worker = benchmark.Worker("stand-in", [sys.executable, "-c", STAND_IN], settings(tmp_path))
        assert worker.step() == {"event": "step", "heard": "step"}
        worker.close()

    def test_a_worker_that_dies_tells_what_it_said_last(self, tmp_path):
        code = "import sys; sys.exit('no more memory')"
        with pytest.raises(RuntimeError, match="exit code 1:\nno more memory"):
            benchmark.Worker("stand-in", [sys.executable, "-c", code], settings(tmp_path))

    def test_a_worker_that_the_system_kills_says_what_helps(self, tmp_path):
        code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        with pytest.raises(RuntimeError, match=r"exit code -9 .*memory ran out.*more passes"):
            benchmark.Worker("stand-in", [sys.executable, "-c", code], settings(tmp_path))

    def test_without_trl_one_sentence_says_so_and_our_own_figures_come(self, tmp_path, capfd, monkeypatch):
        played = settings("", flat=0.5, mean_tokens=3)
        handed = settings("", prompts=4, flat=0.5, played=False)
        monkeypatch.setitem(benchmark.PARTS, "step", (played, handed))
        missing, out = tmp_path / "none" / "bin" / "python", tmp_path / "figures.json"
        options = {
            "parts": "step",
            "prompt-tokens": 7,
            "steps": 2,
            "warmup": 0,
            "threads": 1,
            "trl-python": missing,
            "json": out,
        }
        assert benchmark.main([f"--{name}={value}" for name, value in options.items()]) == 0
        printed = " ".join(capfd.readouterr().out.split())
        assert "TRL is left out; create its environment with" in printed
        first, second = json.loads(out.read_text())["step"]
        assert list(first["sides"]) == ["ours"]
        assert first["ratios"] is None
        # Half of the 4 groups are informative: 2 x (a prompt of 7, encoded once, and 2 answers of 6).
        assert [step["flat"] for step in second["sides"]["ours"]["steps"]] == [0.5, 0.5]
        assert [step["tokens"] for step in second["sides"]["ours"]["steps"]] == [48, 48]
        assert [step["processed"] for step in second["sides"]["ours"]["steps"]] == [38, 38]

    def test_the_script_of_trl_needs_nothing_of_this_package(self):
        path = benchmark.trl_side.__file__
        code = f"import runpy, sys; runpy.run_path({path!r}); print([m for m in sys.modules if 'palaestra' in m])"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"steps": 1}, "--steps must be at least 2"),
        ({"threads": 0}, "--threads"),
        ({"prompt_tokens": 4}, "--prompt-tokens"),
        ({"parts": ()}, "--parts needs at least one of step"),
        ({"parts": ("real",)}, "needs --model with a registered model or the folder of one.$"),
        ({"parts": ("real",), "model": "none/here"}, "'none/here' is neither"),
        ({"seeds": ()}, "--seeds"),
        ({"seeds": (1, 1)}, "--seeds"),
        ({"eval_every": 0}, "--eval-every"),
        ({"held_out": 0}, "--held-out"),
        ({"trl_passes": 3}, "--trl-passes must divide the 64"),
        ({"trl_passes": 32, "quick": True}, "--trl-passes must divide the 16"),
    ],
)
def test_settings_that_cannot_be_measured_are_refused(option, sentence):
    with pytest.raises(InputError, match=sentence):
        benchmark.LearnerBenchOptions(**option)


@pytest.mark.parametrize(
    "made", [made for part in benchmark.PARTS.values() for made in part], ids=lambda made: made.label
)
def test_the_miniature_of_every_setting_has_its_shape(made):
    small = made.small()
    assert small.prompts * small.samples * small.new_tokens < made.prompts * made.samples * made.new_tokens
    # Letters can be fewer; the questions of an environment are as long as they are.
    assert (small.prompt_tokens == made.prompt_tokens) == bool(made.env)
    assert (small.flat, small.played, bool(small.mean_tokens), bool(small.vocabulary)) == (
        made.flat,
        made.played,
        bool(made.mean_tokens),
        bool(made.vocabulary),
    )
