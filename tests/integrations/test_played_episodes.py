"""Episodes as rows for fine-tuning: which ones, in whose words, and that TRL trains on them."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.integrations.played_episodes import demonstrations, preferences

from ..extras import needs


def episode(*turns: tuple[str, str], task: str = "a", reward: float = 0.0, **more: Any) -> dict[str, Any]:
    said = [{"observation": seen, "action": action} for seen, action in turns]
    known = {"task_id": task, "return": reward, "is_success": reward == 1.0, "reward_valid": True}
    return {"turns": said, **known, **more}


GAME = [("Guess.", "crane"), ("2 right.", "crate")]
ROWS = [
    episode(("1 + 1?", "2"), reward=1.0),
    episode(("1 + 1?", "2"), reward=1.0),  # the same again
    episode(("1 + 1?", "3")),
    episode(("1 + 1?", "4"), reward=1.0, reward_valid=False),
    episode(*GAME, task="b", reward=1.0),
    episode(GAME[0], ("2 right.", "trace"), ("1 right.", "crane"), task="b", reward=0.5),
    episode(("2 + 2?", "5"), task="c", agent_failed=True),
]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_good_episodes_are_conversations_each_once():
    game = [user("Guess."), assistant("crane"), user("2 right."), assistant("crate")]
    assert demonstrations(ROWS) == [{"messages": [user("1 + 1?"), assistant("2")]}, {"messages": game}]
    assert len(demonstrations(ROWS, min_reward=0.5)) == 3
    assert demonstrations(ROWS, "prompt-completion")[1:] == [
        {"prompt": game[:1], "completion": game[1:2]},
        {"prompt": game[:3], "completion": game[3:]},
    ]
    assert demonstrations(ROWS[:1], "sharegpt", system="Be brief.") == [
        {
            "conversations": [
                {"from": "system", "value": "Be brief."},
                {"from": "human", "value": "1 + 1?"},
                {"from": "gpt", "value": "2"},
            ]
        }
    ]


def test_observations_that_repeat_the_episode_are_rows_of_their_own():
    digest = episode(*GAME, reward=1.0, history="digest")
    assert demonstrations([digest]) == [{"messages": [user(seen), assistant(said)]} for seen, said in GAME]
    other = episode(GAME[0], ("2 right.", "trace"), history="digest")
    [pair] = preferences([digest, other], system="Play.")
    assert pair["prompt"] == [{"role": "system", "content": "Play."}, user("2 right.")]


def test_a_pair_is_the_first_reply_in_which_two_episodes_of_a_task_differ():
    assert preferences(ROWS) == [
        {"prompt": [user("1 + 1?")], "chosen": [assistant("2")], "rejected": [assistant("3")]},
        {
            "prompt": [user("Guess."), assistant("crane"), user("2 right.")],
            "chosen": [assistant("crate")],
            "rejected": [assistant("trace")],
        },
    ]
    assert preferences(ROWS, "sharegpt")[0]["rejected"] == {"from": "gpt", "value": "3"}
    other_world = [episode(("Guess.", "x"), reward=1.0), episode(("Guess!", "y"))]
    assert preferences(other_world) == []
    assert preferences([{**ROWS[0], "env": "A"}, {**ROWS[2], "env": "B"}]) == []


def test_what_is_no_text_is_one_sentence():
    with pytest.raises(InputError, match=r"not in text \(it has \[1, 2\]\)"):
        demonstrations([episode(([1, 2], "left"), reward=1.0)])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'sharegpt'"):
        demonstrations(ROWS, "share-gpt")  # type: ignore[arg-type]


@needs("trl", "datasets", "torch")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("layout", ["chat", "prompt-completion", "pairs"])
def test_trl_trains_on_them(layout: str, tmp_path: Path):
    import trl
    from datasets import Dataset
    from palaestra.agents.language.tiny import TinyShape, tiny_model
    from palaestra.agents.language.tokenizer import character_tokenizer

    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.eos_token = "<|im_end|>"
    template = Path(inspect.getfile(trl)).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    shape = TinyShape(hidden=16, layers=1, heads=2, kv_heads=1, head_dim=8, intermediate=16, context=8192)
    model, reference = (tiny_model(0, shape, tokenizer)[0] for _ in range(2))
    before = [weight.detach().clone() for weight in model.parameters()]
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    shared = {"output_dir": str(tmp_path), "max_steps": 1, "use_cpu": True, "report_to": [], "save_strategy": "no"}
    shared |= {"per_device_train_batch_size": 2, "learning_rate": 0.1, "disable_tqdm": True, "bf16": False}
    if layout == "pairs":
        more, kind, config, rows = {"ref_model": reference}, trl.DPOTrainer, trl.DPOConfig, preferences(ROWS)
    else:
        more, kind, config, rows = {}, trl.SFTTrainer, trl.SFTConfig, demonstrations(ROWS, layout)  # type: ignore[arg-type]
    data = Dataset.from_list(rows)
    kind(model, args=config(**shared), train_dataset=data, processing_class=tokenizer, **more).train()
    assert any(not old.equal(new) for old, new in zip(before, model.parameters(), strict=True))
