"""Deltas, and nothing but deltas."""

from __future__ import annotations

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
