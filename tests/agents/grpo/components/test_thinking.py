import json
from typing import Any

import pytest
from palaestra.agents.engines.engine import check_engine
from palaestra.agents.grpo.components.thinking import SoftThoughts
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError
from palaestra.scripts import train

SOFT = RECIPES["soft_grpo"]


def test_options_are_those_of_the_paper_and_are_checked(small):
    opened = Objective(SOFT).thinking.target.open(small.tokenizer)
    assert (opened.top_k, opened.top_p, opened.temperature) == (5, 0.95, 0.1)
    assert (opened.noise_low, opened.noise_high, opened.least) == (-1.5, 3.0, -3.0)
    assert small.tokenizer.decode(opened.end_ids) == "</think>"
    assert SoftThoughts(end=None, tokens=3).open(small.tokenizer).end_ids == ()
    for text in ("top_k=0", "top_p=0.0", "temperature=0.0", "noise_low=4.0", "tokens=0"):
        with pytest.raises(InputError, match=text.partition("=")[0]):
            Objective(SOFT.with_(thinking=f"soft({text})"))


def test_what_cannot_think_in_soft_tokens_says_so(small, tmp_path):
    needs = Objective(SOFT).engine_needs
    for engine in ("scripted", "ray", "vllm", "vllm-server"):
        with pytest.raises(InputError, match=f"samples thoughts of soft tokens, which '{engine}' does not"):
            check_engine(engine, {}, needs)
    for changes in ({"rollout": "random_tree"}, {"logits": "nucleus(top_p=0.5)"}):
        with pytest.raises(InputError, match="soft"):
            Objective(SOFT.with_(**changes))
    Objective(SOFT.with_(rollout="greedy_twin"))
    small.save(tmp_path / "model")
    with pytest.raises(InputError, match="way of thinking soft"):
        find_agent(f"language(model='{tmp_path}/model', engine='scripted', thinking=soft)")
    agent: Any = find_agent(f"language(model='{tmp_path}/model', thinking=soft(tokens=3,end=None))")
    assert agent.engine.thinking.tokens == 3


def files(folder):
    newest = newest_checkpoint(folder)
    assert newest is not None
    found = [(newest / name).read_bytes() for name in ("model.safetensors", "state.json")]
    return [*found, *((folder / f"{log}.jsonl").read_bytes() for log in ("metrics", "evaluations", "trajectories"))]


@pytest.fixture(scope="module")
def paid_letters(tmp_path_factory):
    """A reward that differs between episodes, in a file."""
    file = tmp_path_factory.mktemp("reward") / "paid_letters.py"
    file.write_text("def score(episode):\n    return sum(map(ord, episode.response)) % 7 / 7\n")
    return f"{file}:score"


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_run_thinks_in_soft_tokens_and_continues_bit_for_bit(staleness, small, paid_letters, tmp_path):
    small.save(tmp_path / "model")
    line = (
        f"palaestra/GuessNumber-v0 --axis bits=4 --recipe soft_grpo --reward {paid_letters} --steps 3 "
        f"--model {tmp_path / 'model'} --teacher random --warmup.steps 0 --prompts 2 --samples 3 --max-new-tokens 4 "
        "--max-episode-tokens 12 --checkpoint-every 1 --eval-every 0 --final-episodes 1 --threads 1 --lr 1e-2 --track "
        f"--minibatches 1 --patience.no-signal 0 --staleness {staleness} --thinking soft(tokens=3)"
    )
    config = train.read_config(line.split(" "))
    assert Learner.start(tmp_path / "whole", config).run()
    stopped = Learner.start(tmp_path / "stopped", config)
    assert not stopped.run(lambda progress: stopped.stop() if progress.step == 1 else None)
    assert Learner.resume(tmp_path / "stopped").run()
    assert files(tmp_path / "stopped") == files(tmp_path / "whole")
    rows = [json.loads(row) for row in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    assert staleness or max(row.get("sampler_gap", 0.0) for row in rows) < 1e-5
    assert sum(row["updates"] for row in rows) > 0
