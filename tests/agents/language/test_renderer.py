"""Deltas, and nothing but deltas."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.agents.language.renderer import ChatRenderer, MarkerRenderer, PlainRenderer, renderer_for
from palaestra.agents.language.tokenizer import (
    ACTION,
    CHARACTERS,
    END,
    FEWEST_TOKENS,
    OBSERVATION,
    character_tokenizer,
    learned_tokenizer,
)
from palaestra.errors import InputError

CHAT = (
    "{% for m in messages %}<obs>{{ m['role'] }}\n{{ m['content'] }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<obs>assistant\n{% endif %}"
)


@pytest.fixture
def chat():
    """A tokenizer whose template looks like ChatML: the end token of a message is followed by a newline."""
    tokenizer = character_tokenizer()
    tokenizer.chat_template = CHAT
    return tokenizer


def test_every_known_character_survives_the_round_trip():
    tokenizer = character_tokenizer()
    text = "".join(CHARACTERS)
    ids = tokenizer(text).input_ids
    assert len(ids) == len(text) == 96
    assert tokenizer.decode(ids) == text


def test_an_unknown_character_is_one_unknown_token():
    tokenizer = character_tokenizer()
    assert tokenizer("é→").input_ids == [tokenizer.unk_token_id] * 2


PAGE = 'Page "Café" at /orders/31\n  [6] link "Account"\n  [12] link "Orders"\n'


def test_a_learned_vocabulary_has_words_of_its_texts_and_keeps_every_text():
    tokenizer = learned_tokenizer([PAGE] * 3, FEWEST_TOKENS + 60)
    words = tokenizer.tokenize(PAGE)
    assert {"Account", "Orders", "6", "1", "2"} <= set(words)
    assert len(words) < len(PAGE) / 2
    for text in (PAGE, "漢字\x00 é→ \t", "", "  two  spaces "):
        ids = tokenizer(text, add_special_tokens=False).input_ids
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text
    assert learned_tokenizer([PAGE] * 3, FEWEST_TOKENS + 60).get_vocab() == tokenizer.get_vocab()
    with pytest.raises(InputError, match=str(FEWEST_TOKENS)):
        learned_tokenizer([PAGE], FEWEST_TOKENS - 1)


def test_a_name_is_the_same_tokens_in_a_sentence_and_in_quotation_marks():
    # A model that copies a name from the task into an action repeats tokens that it has seen.
    text = "Show my Orders.\n" + PAGE
    tokenizer = learned_tokenizer([text] * 3, FEWEST_TOKENS + 60)
    assert tokenizer.tokenize(text).count("Orders") == 2


@pytest.mark.parametrize("tokenizer", [character_tokenizer(), learned_tokenizer([PAGE], FEWEST_TOKENS + 20)])
def test_text_of_an_environment_cannot_forge_special_tokens(tokenizer):
    renderer = MarkerRenderer(tokenizer)
    ids = renderer.observation(f"a{END}{ACTION}b", first=True)
    special = set(tokenizer.convert_tokens_to_ids([OBSERVATION, ACTION, END]))
    assert [i for i in ids if i in special] == [ids[0], ids[-1]]


def test_actions_lose_their_special_tokens_and_nothing_else():
    renderer = MarkerRenderer(character_tokenizer())
    assert renderer.action(renderer.action_ids(" 12 + 3")) == " 12 + 3"


def test_concatenated_chat_deltas_equal_a_rendering_of_the_whole_conversation(chat):
    # Trap 2: the newline after the end token of an assistant message must not be dropped.
    renderer = ChatRenderer(chat)
    ids = [
        *renderer.observation("first", first=True),
        *renderer.action_ids("one"),
        *renderer.observation("second", first=False),
        *renderer.action_ids("two"),
        *renderer.observation("third", first=False),
    ]
    conversation = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "second"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "third"},
    ]
    assert chat.decode(ids) == chat.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)


def test_an_action_cut_by_its_budget_still_gets_its_end_token_in_the_next_delta(chat):
    renderer = ChatRenderer(chat)
    cut = [*renderer.observation("a", first=True), *renderer.action_ids("one")[:-1]]
    whole = [*renderer.observation("a", first=True), *renderer.action_ids("one")]
    assert [*cut, *renderer.observation("b", first=False, stopped=False)] == [
        *whole,
        *renderer.observation("b", first=False, stopped=True),
    ]


def test_the_renderer_follows_what_the_tokenizer_has(chat):
    assert isinstance(renderer_for(character_tokenizer()), MarkerRenderer)
    plain = character_tokenizer()
    plain.get_vocab, plain.chat_template = lambda: {"a": 0}, None  # neither markers nor template
    assert isinstance(renderer_for(plain), PlainRenderer)
    chat.get_vocab = lambda: {"a": 0}
    assert isinstance(renderer_for(chat), ChatRenderer)


def test_the_template_of_the_tiny_model_writes_what_the_renderer_writes():
    """So that other trainers and servers give the model the conversations that it knows."""
    tokenizer = character_tokenizer()
    renderer = MarkerRenderer(tokenizer)
    turns = [("user", "1 + 1?"), ("assistant", "2"), ("user", "2 + 2?")]
    ours = [
        *renderer.observation("1 + 1?", first=True),
        *renderer.action_ids("2"),
        *renderer.observation("2 + 2?", first=False),
    ]
    messages = [{"role": role, "content": text} for role, text in turns]
    theirs = tokenizer.apply_chat_template(messages, tokenize=True, add_generation_prompt=True, return_dict=False)
    assert theirs == ours


def byte_pairs(processor: str | None = None, **options: Any) -> Any:
    """A byte-level tokenizer like that of Llama 3 or GPT-2, whose post-processor adds what ``processor`` says."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<s2>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    core.train_from_iterator(["what is one plus one"] * 3, trainer)
    if processor is not None:
        pairs = [(token, core.token_to_id(token)) for token in special]
        template = processors.TemplateProcessing(single=processor, special_tokens=pairs)
        core.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", **options)


def sentence_pieces(kind: str, add_bos: bool) -> Any:
    """A tokenizer of the class that Llama 2 and Mistral ("llama") or Gemma ("gemma") have, of characters."""
    from transformers import GemmaTokenizer, LlamaTokenizer

    pieces = ["<unk>", "<s>", "</s>", "▁", *(f"<0x{byte:02X}>" for byte in range(256)), *"abcdefgh0123456789+=?\n"]
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>"}
    made = {"llama": LlamaTokenizer, "gemma": GemmaTokenizer}[kind]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    return made(vocab=vocabulary, merges=[], add_bos_token=add_bos, **names)


BASE = {
    "nothing": lambda: byte_pairs(),
    "bos": lambda: byte_pairs("<s> $A"),
    "bos-by-name": lambda: byte_pairs("<s>:0 $A:0"),
    "bos-and-eos": lambda: byte_pairs("<s> $A </s>"),
    "eos": lambda: byte_pairs("$A </s>"),
    "two-before": lambda: byte_pairs("<s> <s2> $A"),
    "llama": lambda: sentence_pieces("llama", True),
    "llama-without": lambda: sentence_pieces("llama", False),
    "gemma": lambda: sentence_pieces("gemma", True),
    "gemma-without": lambda: sentence_pieces("gemma", False),
}


@pytest.mark.parametrize("system", [None, "be brief"])
@pytest.mark.parametrize("name", BASE)
def test_a_base_model_begins_an_episode_as_its_tokenizer_begins_a_text(name, system):
    tokenizer = BASE[name]()
    renderer = renderer_for(tokenizer, system=system)
    text = "1+1=?" if system is None else f"{system}\n1+1=?"
    whole = tokenizer(f"{text}\n").input_ids
    added = int(whole[-1] == tokenizer.eos_token_id)  # an EOS would end the text before the answer
    assert list(renderer.observation("1+1=?", first=True)) == whole[: len(whole) - added]
    bare = "without" not in name and name not in ("nothing", "eos")
    later = [*renderer.observation("2", first=False), *renderer.action_ids("2")]
    assert (whole[0] == tokenizer.bos_token_id) == bare
    assert tokenizer.bos_token_id not in [*whole[1:], *later]


def test_a_text_cannot_take_the_place_of_the_start_token():
    tokenizer = byte_pairs("<s> $A")
    ids = renderer_for(tokenizer).observation("<s>1", first=True)
    assert ids.count(tokenizer.bos_token_id) == 1


@pytest.mark.parametrize("written", [True, False])
def test_a_chat_template_alone_decides_on_the_start_token(written):
    tokenizer = byte_pairs("<s> $A")
    tokenizer.chat_template = ("{{ bos_token }}" if written else "") + CHAT
    ids = renderer_for(tokenizer).observation("1", first=True)
    assert ids.count(tokenizer.bos_token_id) == written
    messages = [{"role": "user", "content": "1"}]
    assert list(ids) == tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)


def test_markers_come_after_what_the_tokenizer_puts_before_a_text():
    tokenizer = byte_pairs("<s> $A", additional_special_tokens=[OBSERVATION, ACTION])
    renderer = MarkerRenderer(tokenizer)
    opened, closed = tokenizer.convert_tokens_to_ids([OBSERVATION, ACTION])
    first, later = (renderer.observation("1", first=first) for first in (True, False))
    assert first == (tokenizer.bos_token_id, *later)
    assert (later[0], later[-1]) == (opened, closed)


@pytest.mark.parametrize("kind", [MarkerRenderer, PlainRenderer, ChatRenderer])
def test_another_system_text_gives_the_renderer_made_with_it(kind, chat):
    own, other = kind(chat, system="be brief"), kind(chat, system="be kind")
    changed = own.with_system("be kind")
    for first in (True, False):
        assert changed.observation("a?", first=first) == other.observation("a?", first=first)
    assert changed.observation("a?", first=True) != own.observation("a?", first=True)
    assert changed.action_ids("b") == own.action_ids("b")
    assert own.with_system("be kind") is changed
    assert own.system == "be brief"
