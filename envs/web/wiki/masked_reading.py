"""palaestra/MaskedReading-v0 and palaestra/MaskedSpan-v0: fill in masked names, dates and numbers of a paragraph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....rewards import Verdict
from ....rewards.answers.phrases import is_denied
from ....rewards.verifiers.registry import rejected
from ...code.programs.dice import Dice
from ...param_space import IntAxis, ParamSpace
from ...question import Task
from ...registration import register
from .corpus import Corpus, make_corpus
from .wiki_answers import judge_value
from .wiki_questions import Fact
from .wiki_reading import (
    SIZE,
    EncyclopaediaQuestion,
    choose_sentences,
    draw_value,
    find_sentence,
    show_sentence,
    world_key,
)
from .wiki_relations import RELATIONS
from .wiki_search import SPARE, WikiSearch
from .world import name_of_value

_LABEL = re.compile(r"^[\s\[(]*(?:mask )?\d{1,2}[\])]?\s*[.:=)\]-]+\s*|^\s*\[\d{1,2}\]\s*", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*[;,]?\s*\[\d{1,2}\][:=]?\s*")
# Lead-ins such as "=>" in "=> X; Y" and "So they are" in "So they are X; Y", which are not part of a value.
_LEAD = re.compile(r"^(?:[^\w\[(]+|[^;\n]{0,40}\b(?:they|values|answers?|masks?) (?:are|is)\b[:\s*]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MaskedTask:
    """Data of a task: seed and number of ``articles`` of the corpus; ``facts``, whose values are masked, in the order
    of the masks; ``named``, the things that the paragraph names, as (number of the thing, name used)."""

    seed: int
    articles: int
    facts: tuple[Fact, ...]
    named: tuple[tuple[int, str], ...]

    @property
    def corpus(self) -> Corpus:
        return make_corpus(self.seed, self.articles)


class MaskedReading(EncyclopaediaQuestion):
    """Fill in the masks of a paragraph from sentences of a made-up encyclopaedia.

    Description:
        The paragraph states facts about things that it names and about things that its masks stand for, in other words
        than the encyclopaedia. Each mask stands for a name, a date or a number of a made-up world, which nobody can
        know without the sentences in the prompt. A fifth of the worlds is in the test split.

    Parameters:
        masks (1 to 5, on request up to 12): number of masks.
        depth (1 to 3, on request up to 6): longest chain of masks of which each depends on the one before: with 1, all
            facts are about things that the paragraph names.
        size (0 to 4, on request up to 7): the world has 40 * 2 ** size articles, and the prompt has up to 2 + 2 * size
            distracting sentences.

    Observation:
        The sentences, a blank line, the paragraph with the masks ``[1]``, ``[2]`` ..., and the form of the answer.

    Actions:
        The values in order, separated by semicolons or line ends, or each after its mask, read in ``answer_format``.

    Reward:
        The share of masks filled in rightly, each judged by itself; success is all of them. The extra ``atom_scores``
        has 1 or 0 for each mask.

    Termination:
        After the first answer.

    Source:
        Retrieval-augmented mask prediction, MaskSearch (arXiv 2505.20285), on paragraphs made here.
    """

    param_space = ParamSpace([IntAxis("masks", 1, 5, limits=(1, 12)), IntAxis("depth", 1, 3, limits=(1, 6)), SIZE])
    answer_form = "values"
    supplies = frozenset({"atom_scores"})

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        corpus = self.draw_corpus(dice, params["size"])
        facts, named, paragraph = draw_paragraph(corpus, dice, params["masks"], params["depth"])
        needed = {(fact.at, find_sentence(corpus, fact)) for fact in facts}
        sentences = choose_sentences(corpus, dice, needed, list(named), 2 + 2 * params["size"])
        count = len(facts)
        form = (
            "What stands for [1]? Answer with a name, a date or a number."
            if count == 1
            else f"What stands for [1] to [{count}]? Answer with the {count} values in order, separated by semicolons."
        )
        values = [name_of_value(corpus.world, fact.relation, value_of(corpus, fact)) for fact in facts]
        prompt = "\n".join(["Sentences from an encyclopaedia:", *sentences, "", paragraph, form])
        return Task(
            prompt,
            "; ".join(values),
            content=f"{corpus.seed} {corpus.size} {paragraph}",
            split_key=world_key(corpus.seed),
            data=MaskedTask(corpus.seed, corpus.size, tuple(facts), tuple(named.items())),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        corpus, facts = task.data.corpus, task.data.facts
        parts = split_values(answer)
        if len(parts) != len(facts):
            return rejected(f"The answer has {len(parts)} values instead of {len(facts)}; separate them by semicolons.")
        right = [
            judge_value(corpus, part, value_of(corpus, fact), RELATIONS[fact.relation].is_link) is True
            for part, fact in zip(parts, facts)
        ]
        wrong = [f"[{place}]" for place, one in enumerate(right, start=1) if not one]
        feedback = f"Not right: {', '.join(wrong)}." if wrong else "Correct."
        scores = [float(one) for one in right]
        share = sum(scores) / len(scores)
        return Verdict(share, not wrong, feedback=feedback, extras={"atom_scores": scores})

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return for each mask a random value of the kind asked for."""
        return "; ".join(draw_value(episode.data.corpus, fact.relation, rng) for fact in episode.data.facts)

    def solution_steps(self, task: Task) -> list[str]:
        """Return the sentences that state the values, in the order of the masks, and the answer."""
        corpus = task.data.corpus
        steps = [show_sentence(corpus, fact.at, find_sentence(corpus, fact)) for fact in task.data.facts]
        return [*dict.fromkeys(steps), self.oracle(task)]


class MaskedSpan(WikiSearch):
    """Fill in the masks of a paragraph by searching a made-up encyclopaedia.

    Description:
        The paragraph is one of `MaskedReading`, without the sentences of the prompt: the agent searches the
        encyclopaedia as in `WikiSearch`. A fifth of the worlds is in the test split.

    Parameters:
        masks (1 to 5, on request up to 12): number of masks.
        depth (1 to 3, on request up to 6): longest chain of masks of which each depends on the one before: with 1, all
            facts are about things that the paragraph names.
        size (0 to 4, on request up to 7): the encyclopaedia has 40 * 2 ** size articles, besides disambiguation pages.
        spare (8 to 0, harder downwards, on request up to 40): calls beyond those of the scripted solver.

    Observation:
        The paragraph with the masks ``[1]``, ``[2]`` ..., and the commands; then as in `WikiSearch`.

    Actions:
        The commands of `WikiSearch`; the answer has the values in order, separated by semicolons.

    Reward:
        The share of masks filled in rightly, and 0 for calls; success is all of them. After the answer the extra
        ``atom_scores`` has 1 or 0 for each mask.

    Termination:
        As in `WikiSearch`.

    Source:
        Retrieval-augmented mask prediction, MaskSearch (arXiv 2505.20285), on paragraphs made here.

    Args:
        of: the id of the question environment that the paragraphs come from.
        of_kwargs: arguments of that environment, such as ``{"worlds": 1000}``.
        **kwargs: arguments of `WikiSearch`.
    """

    param_space = ParamSpace([*MaskedReading.param_space.axes, SPARE])

    def __init__(
        self, *, of: str = "palaestra/MaskedReading-v0", of_kwargs: Mapping[str, Any] | None = None, **kwargs: Any
    ):
        super().__init__(of=of, of_kwargs=of_kwargs, **kwargs)


def value_of(corpus: Corpus, fact: Fact) -> Any:
    """Return the value that a fact states."""
    return corpus.world.things[fact.at].facts[fact.relation]


def draw_paragraph(corpus: Corpus, dice: Dice, masks: int, depth: int) -> tuple[list[Fact], dict[int, str], str]:
    """Draw facts and state them with their values masked.

    Returns:
        (facts in the order of the masks, thing named in the paragraph -> title of the thing, paragraph).
    """
    world = corpus.world
    labels: dict[int, str] = {}  # thing -> its name in the paragraph: the title, or the mask that stands for it
    named: dict[int, str] = {}
    depths: dict[int, int] = {}
    facts: list[Fact] = []
    texts: list[str] = []

    def is_shown(thing: int) -> bool:
        return thing in labels or any(world.things[thing].name in title for title in named.values())

    while len(facts) < masks:
        # Values shown in the paragraph are not masked, and no value is masked twice.
        open_facts = [
            Fact(number, relation)
            for number, level in depths.items()
            if level < depth
            for relation, value in world.things[number].facts.items()
            if Fact(number, relation) not in facts and not (RELATIONS[relation].is_link and is_shown(value))
        ]
        if not open_facts:
            number = dice.below(len(world.things))
            if number not in labels:
                labels[number] = named[number] = corpus.title(number)
                depths[number] = 0
            continue
        # With probability one half draw a fact about the newest thing, so that chains arise.
        newest = [fact for fact in open_facts if fact.at == next(reversed(depths))]
        fact = dice.one(newest if newest and dice.chance(0.5) else open_facts)
        facts.append(fact)
        mask = f"[{len(facts)}]"
        noun = RELATIONS[fact.relation].noun.format(labels[fact.at])
        texts.append(f"{noun[0].upper()}{noun[1:]} is {mask}.")
        if RELATIONS[fact.relation].is_link:
            value = value_of(corpus, fact)
            labels[value], depths[value] = mask, depths[fact.at] + 1
    return facts, named, " ".join(texts)


def split_values(answer: str) -> list[str]:
    """Split an answer into values: at semicolons or line ends, or before each mask."""
    text = answer[:4096].strip().strip(";")
    if (lead := _LEAD.match(text)) and not (re.search(r"\w", lead[0]) and is_denied(lead[0])):
        text = text[lead.end() :]
    if ";" in text or "\n" in text:
        parts = re.split(r"[;\n]+", text)
    elif len(numbered := _NUMBERED.split(text)) > 2 and not numbered[0].strip():
        parts = numbered[1:]
    else:
        parts = [text]
    return [value for part in parts if (value := _LABEL.sub("", part).strip(" *`$.\"'"))]


register("palaestra/MaskedReading-v0", f"{__name__}:MaskedReading")
register("palaestra/MaskedSpan-v0", f"{__name__}:MaskedSpan")
