"""Rows for supervised fine-tuning and for preference training, from episodes that were played.

    from palaestra.integrations.played_episodes import demonstrations, preferences

    rows = [json.loads(line) for line in open("played.jsonl")]     # of palaestra eval --out, or a run's trajectories
    demonstrations(rows)[0]          # {"messages": [{"role": "user", ...}, {"role": "assistant", ...}]}
    preferences(rows)[0]             # {"prompt": [...], "chosen": [...], "rejected": [...]}

The layouts are those of TRL's SFTTrainer and DPOTrainer (messages, prompt and completion, preference), and ShareGPT's.
On the command line: ``palaestra dataset --from RUN --out sft.jsonl``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from ..errors import InputError, shorten, unknown_name

Layout = Literal["chat", "prompt-completion", "sharegpt"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
Message = dict[str, str]
_SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt"}


def is_good(row: Mapping[str, Any], min_reward: float | None = None) -> bool | None:
    """Judge an episode: True or False by its return, or by its success if ``min_reward`` is None. Return None if
    nothing can be learned from it: the machinery or the agent failed, or it has no success."""
    if not row.get("reward_valid", True) or row.get("agent_failed") or not row.get("turns"):
        return None
    if min_reward is None:
        return row.get("is_success")
    return float(row["return"]) >= min_reward


def demonstrations(
    rows: Iterable[Mapping[str, Any]],
    layout: Layout = "chat",
    *,
    min_reward: float | None = None,
    system: str | None = None,
) -> list[dict[str, Any]]:
    """Return the good episodes as rows for supervised fine-tuning, each different one once.

    An episode is one conversation in the layouts "chat" and "sharegpt". It is one row for each reply in
    "prompt-completion", and in every layout if the agent saw the episode as a digest (``history``), as its observations
    then repeat what came before.

    Args:
        rows: episodes, as `palaestra eval --out` and runs write them.
        layout: "chat" ({"messages"}), "prompt-completion" ({"prompt", "completion"}) or "sharegpt" ({"conversations"}).
        min_reward: minimum return of a good episode; None: the episodes that succeeded.
        system: system prompt, the first message of each row; None: no system message.

    Raises:
        InputError: an unknown layout, or an episode that was not played in text.
    """
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if not is_good(row, min_reward):
            continue
        pieces = _conversations(row, system)
        if layout == "prompt-completion" and not row.get("history"):
            [messages] = pieces
            pieces = [messages[: end + 1] for end, said in enumerate(messages) if said["role"] == "assistant"]
        for messages in pieces:
            found.setdefault(repr(messages), _lay_out(messages, layout))
    return list(found.values())


def preferences(
    rows: Iterable[Mapping[str, Any]],
    layout: Layout = "chat",
    *,
    min_reward: float | None = None,
    system: str | None = None,
) -> list[dict[str, Any]]:
    """Return pairs of a good and a bad episode of the same task as rows {"prompt", "chosen", "rejected"}; in the layout
    "sharegpt" {"conversations", "chosen", "rejected"}.

    The prompt is the common beginning of both episodes, up to the first turn in which the replies differ; these two
    replies are the pair. Each bad episode is in one pair at most, and equal pairs count once.

    Args:
        rows, min_reward, system: as for `demonstrations`. Bad are all episodes that can be judged and are not good.
        layout: "chat" and "prompt-completion" are the same here.

    Raises:
        InputError: as for `demonstrations`.
    """
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    tasks: dict[tuple[Any, ...], tuple[list[Any], list[Any]]] = {}
    for row in rows:
        good = is_good(row, min_reward)
        if good is not None and row.get("task_id"):
            tasks.setdefault((row.get("env"), row["task_id"]), ([], []))[not good].append(row)
    found: dict[str, dict[str, Any]] = {}
    for good_ones, bad_ones in tasks.values():
        for place, bad in enumerate(bad_ones if good_ones else []):
            pair = _first_difference(good_ones[place % len(good_ones)], bad, system)
            if pair is not None:
                prompt, chosen, rejected = pair
                found.setdefault(repr(pair), _lay_out_pair(prompt, chosen, rejected, layout))
    return list(found.values())


def _conversations(row: Mapping[str, Any], system: str | None) -> list[list[Message]]:
    """Return the conversation of an episode, or, if it was shown as a digest, that of each turn."""
    turns = [_exchange(turn) for turn in row["turns"]]
    first = [] if system is None else [{"role": "system", "content": system}]
    if row.get("history"):
        return [[*first, *turn] for turn in turns]
    return [[*first, *(message for turn in turns for message in turn)]]


def _exchange(turn: Mapping[str, Any]) -> tuple[Message, Message]:
    seen, action = turn["observation"], turn["action"]
    if not isinstance(seen, str) or not isinstance(action, str):
        raise InputError(
            f"an episode is not in text (it has {shorten(repr(seen if not isinstance(seen, str) else action))}); give "
            "episodes of environments that are played in text."
        )
    return {"role": "user", "content": seen}, {"role": "assistant", "content": action}


def _first_difference(
    good: Mapping[str, Any], bad: Mapping[str, Any], system: str | None
) -> tuple[list[Message], Message, Message] | None:
    """Return (prompt, chosen, rejected) at the first differing reply; None if an observation differs before it."""
    prompt: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    for one, other in zip(good["turns"], bad["turns"]):
        (seen, chosen), (seen_too, rejected) = _exchange(one), _exchange(other)
        if seen != seen_too:
            return None
        if good.get("history"):
            del prompt[0 if system is None else 1 :]
        prompt.append(seen)
        if chosen != rejected:
            return prompt, chosen, rejected
        prompt.append(chosen)
    return None


def _lay_out(messages: Sequence[Message], layout: Layout) -> dict[str, Any]:
    if layout == "sharegpt":
        return {"conversations": [_as_sharegpt(message) for message in messages]}
    if layout == "prompt-completion":
        return {"prompt": list(messages[:-1]), "completion": [messages[-1]]}
    return {"messages": list(messages)}


def _lay_out_pair(prompt: list[Message], chosen: Message, rejected: Message, layout: Layout) -> dict[str, Any]:
    if layout == "sharegpt":
        pair = {"chosen": _as_sharegpt(chosen), "rejected": _as_sharegpt(rejected)}
        return {"conversations": [_as_sharegpt(message) for message in prompt], **pair}
    return {"prompt": prompt, "chosen": [chosen], "rejected": [rejected]}


def _as_sharegpt(message: Message) -> Message:
    return {"from": _SPEAKERS[message["role"]], "value": message["content"]}
