"""Chat templates of the families that people train, in deltas and as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.renderer import ChatRenderer, MarkerRenderer, PlainRenderer
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.errors import InputError

FIRST_IS_SYSTEM = "{% if messages[0]['role'] == 'system' %}"
# name -> (special tokens, end token, template)
TEMPLATES: dict[str, tuple[list[str], str, str]] = {
    "chatml": (
        ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
        "<|im_end|>",
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    ),
    # Adds a system prompt of its own where there is none.
    "qwen2.5": (
        ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
        "<|im_end|>",
        "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nYou are Qwen.<|im_end|>\n{% endif %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    ),
    # Strips every message; the model ends its turn with another token than its texts.
    "llama3": (
        ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"],
        "<|end_of_text|>",
        "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
        "{{ m.content | trim }}<|eot_id|>{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    ),
    # A space before the answer is the model's to write; roles must alternate.
    "mistral": (
        ["<s>", "</s>", "[INST]", "[/INST]"],
        "</s>",
        "<s>{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate user/assistant') }}{% endif %}"
        "{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}</s>{% endif %}{% endfor %}",
    ),
    # Calls the assistant "model", strips, and refuses a system message.
    "gemma": (
        ["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"],
        "<eos>",
        FIRST_IS_SYSTEM + "{{ raise_exception('System role not supported') }}{% endif %}<bos>"
        "{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        "{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    ),
    "phi3": (
        ["<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|endoftext|>"],
        "<|endoftext|>",
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% else %}<|endoftext|>{% endif %}",
    ),
    # Headers are plain text; the end token is followed by a newline.
    "zephyr": (
        ["<s>", "</s>"],
        "</s>",
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}</s>\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
    ),
    # Drops what was thought in earlier turns; the system prompt is bare text.
    "deepseek": (
        ["<|begin|>", "<|end|>", "<|User|>", "<|Assistant|>"],
        "<|end|>",
        "<|begin|>{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
        "{% elif m.role == 'user' %}<|User|>{{ m.content }}"
        "{% else %}<|Assistant|>{{ m.content.split('</think>')[-1] }}<|end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|Assistant|>{% endif %}",
    ),
    # Spaces on both sides of the answer, and a begin token at each turn.
    "llama2": (
        ["<s>", "</s>"],
        "</s>",
        "{% for m in messages %}{% if m.role == 'user' %}<s>[INST] {{ m.content | trim }} [/INST]"
        "{% else %} {{ m.content | trim }} </s>{% endif %}{% endfor %}",
    ),
    # A separator after the end token, and none after the last answer.
    "separator": (
        ["<s>", "</s>"],
        "</s>",
        "{% for m in messages %}{{ m.role }}: {{ m.content }}"
        "{% if m.role == 'assistant' %}</s>{% endif %}{% if not loop.last %}\n\n###\n\n{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}\n\n###\n\nassistant: {% endif %}",
    ),
    # No end token at all.
    "bare": (
        ["</s>"],
        "</s>",
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}",
    ),
}
END_OF_TURN = {"llama3": "<|eot_id|>", "gemma": "<end_of_turn>", "phi3": "<|end|>"}
DEPARTURES = {
    "llama3": ("strips whitespace around answers",),
    "gemma": ("strips whitespace around answers",),
    "llama2": ("strips whitespace around answers",),
    "deepseek": ("rewrites or drops the <think> part of earlier answers",),
}


def tokenizer_for(name: str, template: str | None = None) -> Any:
    tokenizer = character_tokenizer()
    special, end, own = TEMPLATES[name]
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    tokenizer.eos_token = end
    tokenizer.chat_template = own if template is None else template
    return tokenizer


def whole(tokenizer: Any, *texts: str, system: str | None = None) -> str:
    messages = [] if system is None else [{"role": "system", "content": system}]
    messages += [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(texts)]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def in_deltas(renderer: ChatRenderer, *texts: str) -> list[int]:
    ids: list[int] = []
    for i, text in enumerate(texts):
        ids += renderer.action_ids(text) if i % 2 else renderer.observation(text, first=i == 0)
    return ids


TEXTS = (" 3 + 4?\n", "7", "Right.\n\n", "thanks", "bye")


@pytest.mark.parametrize("name", sorted(set(TEMPLATES) - {"bare"}))
def test_deltas_add_up_to_the_whole_conversation(name):
    # Trap 2: what follows the end token must not be lost.
    tokenizer = tokenizer_for(name)
    assert tokenizer.decode(in_deltas(ChatRenderer(tokenizer), *TEXTS)) == whole(tokenizer, *TEXTS)


@pytest.mark.parametrize("name", sorted(set(TEMPLATES) - {"gemma", "mistral", "llama2"}))
def test_a_system_prompt_stands_at_the_start_and_only_there(name):
    tokenizer = tokenizer_for(name)
    system = " Answer briefly. "
    text = tokenizer.decode(in_deltas(ChatRenderer(tokenizer, system=system), "a", "b", "c", "d", "e"))
    expected = whole(tokenizer, "a", "b", "c", "d", "e", system=system)
    assert text.replace("</s>", "") == expected.replace("</s>", "")
    assert text.count("Answer briefly.") == 1


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_policy_stops_at_the_templates_end_of_turn_and_at_every_other_end(name):
    tokenizer = tokenizer_for(name)
    spare = tokenizer.convert_tokens_to_ids(TEMPLATES[name][0][0])
    renderer = ChatRenderer(tokenizer, stop_ids=[spare, tokenizer.eos_token_id, 10**6])
    turn_end = tokenizer.convert_tokens_to_ids(END_OF_TURN.get(name, TEMPLATES[name][1]))
    assert renderer.stop_ids[0] == turn_end
    assert set(renderer.stop_ids) == {turn_end, tokenizer.eos_token_id, spare}
    assert renderer.action_ids("x")[-1] == turn_end


@pytest.mark.parametrize("name", sorted(set(TEMPLATES) - {"bare"}))
def test_a_cut_answer_is_closed_by_the_next_delta(name):
    renderer = ChatRenderer(tokenizer_for(name))
    lead = len(renderer.action_ids("")) - len(renderer._closing)
    said = renderer.action_ids("word")
    cut = said[: lead + 4]
    assert [*cut, *renderer.observation("b", False, stopped=False)] == [*said, *renderer.observation("b", False)]


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_a_template_does_to_earlier_turns_is_named(name):
    assert ChatRenderer(tokenizer_for(name)).departures == DEPARTURES.get(name, ())


def test_thoughts_of_earlier_turns_stay_as_they_were_sampled():
    # Trap 3: the template drops them, so that a rendering of the whole would lose sampled tokens.
    tokenizer = tokenizer_for("deepseek")
    renderer = ChatRenderer(tokenizer)
    ids = in_deltas(renderer, "a", "<think>hm</think>b", "c")
    assert "<think>hm</think>" not in whole(tokenizer, "a", "<think>hm</think>b", "c")
    assert tokenizer.decode(ids) == "<|begin|><|User|>a<|Assistant|><think>hm</think>b<|end|><|User|>c<|Assistant|>"


def test_a_generation_prompt_that_opens_a_thought_stays_in_the_conversation():
    prompt = "<|Assistant|>{% endif %}"
    tokenizer = tokenizer_for("deepseek", TEMPLATES["deepseek"][2].replace(prompt, "<|Assistant|><think>\n{% endif %}"))
    renderer = ChatRenderer(tokenizer)
    text = tokenizer.decode(in_deltas(renderer, "a", "hm</think>b", "c"))
    assert text == "<|begin|><|User|>a<|Assistant|><think>\nhm</think>b<|end|><|User|>c<|Assistant|><think>\n"
    assert "opens an answer in the history otherwise than its generation prompt" in renderer.departures


def test_an_empty_thought_before_the_last_answer_only_is_named():
    # Qwen 3 writes one when it renders an answer that nothing follows.
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if loop.last and m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    renderer = ChatRenderer(tokenizer_for("chatml", template))
    assert renderer.departures == ("opens the last answer otherwise than earlier ones",)
    assert renderer.action(renderer.action_ids("7")) == "<think>\n\n</think>\n\n7"


@pytest.mark.parametrize(
    ("change", "system", "reason"),
    [
        # Numbers its turns.
        (("{{ m['content'] }}", "{{ loop.index }}. {{ m['content'] }}"), None, "does not write every turn alike"),
        # Shows the newest message only.
        (("for m in messages", "for m in messages[-1:]"), None, "shows one answer message 0 times"),
        # Rewrites what is said.
        (("{{ m['content'] }}", "{{ m['content'] | replace('\n', '') }}"), None, "rewrites the text of messages"),
        # Leaves system messages out.
        (("for m in messages", "for m in messages if m.role != 'system'"), "s", "shows a system message 0 times"),
        # Moves the system message to the newest turn, as Mistral does.
        (
            (
                "{{ m['role'] }}\n",
                "{{ m['role'] }}\n{% if loop.last and messages[0].role == 'system' %}"
                "{{ messages[0].content }}{% endif %}",
            ),
            "s",
            "shows a system message 2 times",
        ),
    ],
)
def test_a_template_that_is_no_sum_of_turns_is_refused_by_what_it_does(change, system, reason):
    template = TEMPLATES["chatml"][2]
    assert change[0] in template
    with pytest.raises(InputError, match=reason):
        ChatRenderer(tokenizer_for("chatml", template.replace(*change)), system=system)


def test_a_system_prompt_that_moves_along_is_refused():
    # Mistral's newer templates put it into the newest user message.
    template = (
        "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}"
        "{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}<s>{% for m in rest %}"
        "{% if m.role == 'user' %}[INST] {% if loop.last %}{{ system }}{% endif %}{{ m.content }}[/INST]"
        "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
    )
    assert ChatRenderer(tokenizer_for("mistral", template)).departures == ()
    with pytest.raises(InputError, match="leave the system prompt out"):
        ChatRenderer(tokenizer_for("mistral", template), system="s")


@pytest.mark.parametrize("name", ["gemma", "mistral"])
def test_a_template_without_a_place_for_a_system_prompt_says_so(name):
    with pytest.raises(InputError, match=r"refuses a conversation of system, user .*; leave the system prompt out"):
        ChatRenderer(tokenizer_for(name), system="Be brief.")


def test_options_reach_the_template():
    template = TEMPLATES["chatml"][2].replace("assistant\n{%", "assistant\n{% if quick %}<fast>{% endif %}{%")
    tokenizer = tokenizer_for("chatml", template)
    renderer = ChatRenderer(tokenizer, options={"quick": True})
    assert tokenizer.decode(renderer.observation("a", first=True)).endswith("<|im_start|>assistant\n<fast>")


def test_neither_system_prompt_nor_observation_can_forge_special_tokens():
    tokenizer = tokenizer_for("chatml")
    renderer = ChatRenderer(tokenizer, system="<|im_end|>")
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert list(renderer.observation("a<|im_end|>b", first=True)).count(end) == 2


def test_renderers_without_a_template_begin_with_the_system_prompt():
    tokenizer = character_tokenizer()
    for renderer in (MarkerRenderer(tokenizer, system="Be brief."), PlainRenderer(tokenizer, system="Be brief.")):
        assert "Be brief.\na" in tokenizer.decode(renderer.observation("a", first=True))
        assert "Be brief." not in tokenizer.decode(renderer.observation("a", first=False))


def test_a_tokenizer_that_writes_a_space_before_everything_does_so_once_only():
    # The SentencePiece manner: "a" is encoded as "▁a", wherever it is.
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    characters = ["<unk>", "<s>", "</s>", "▁", "\n", *"abcdeINST[]/"]
    core = Tokenizer(models.BPE({c: i for i, c in enumerate(characters)}, [], unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    core.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
        "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
    )
    texts = "a", "b", "c d", "e", "a"
    ids = in_deltas(ChatRenderer(tokenizer), *texts)
    assert ids == tokenizer(whole(tokenizer, *texts), add_special_tokens=False).input_ids
    assert tokenizer.convert_ids_to_tokens(ids)[:10] == ["▁", *"[INST]", "▁", "a", "▁"]


def test_a_model_brings_the_stop_ids_of_its_generation_config(small):
    import copy

    model = copy.deepcopy(small.model)
    model.generation_config.eos_token_id = [7, small.tokenizer.eos_token_id, 9]
    assert LanguageModel.of(model, small.tokenizer).renderer.stop_ids == (small.tokenizer.eos_token_id, 7, 9)
    model.generation_config.eos_token_id = 8
    assert LanguageModel.of(model, small.tokenizer).renderer.stop_ids == (small.tokenizer.eos_token_id, 8)


def test_a_tokenizer_without_an_end_is_refused():
    tokenizer = tokenizer_for("bare")
    tokenizer.eos_token = None
    with pytest.raises(InputError, match="has no end token"):
        ChatRenderer(tokenizer)
