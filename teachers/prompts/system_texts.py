"""Teachers that choose the system text with which a task is played; another teacher chooses the task.

`PriorPrompts` lets a bandit choose among five templates (pPE, arXiv 2505.14157), `InstructionPopulation` keeps a
population of instructions that a reflector renews (INSPO, arXiv 2512.01945). A group has one system text, so advantages
are normalised per task and text. An outcome credits the text of its proposal and is passed on to the inner teacher.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from ...checks import check_texts, keyword_declared, option
from ...registry import Registry
from ..part_ids import PartIds
from ..protocol import Draw, Evidence, Teacher
from ..registration import make, register


@dataclass(frozen=True)
class PriorPrompt:
    """A way to approach a question: ``first``, a sentence on what to write first, inside ``<tag> </tag>``."""

    tag: str
    first: str

    @property
    def text(self) -> str:
        """The system text, which names the tags of the response in order (see the reward "asked-format")."""
        answer = "Then give the final answer in <answer> </answer>. Write nothing else."
        return f"{self.first} in <{self.tag}> </{self.tag}>. {answer}"


PRIOR_PROMPTS: Registry[PriorPrompt] = Registry("prior prompt", group="palaestra.prior_prompts")

for _tag, _first in {
    "think": "Work through the question step by step",
    "plan": "Write a plan of how to solve the question, and carry it out,",
    "code": "Solve the question by writing a program, and follow what it does,",
    "knowledge": "Recall the facts, definitions and rules that the question needs",
    "examples": "Write down examples, or counterexamples, that help with the question",
}.items():
    PRIOR_PROMPTS.add(_tag, PriorPrompt(_tag, _first))


@keyword_declared
class SystemTexts(Teacher):
    """Base of teachers of system texts.

    The record of a proposal is [id of the inner teacher's proposal, key of the text]; of a task given to `update`, the
    first entry is a list with the inner teacher's record, and the second None.
    """

    kind = "any"
    asks = frozenset({"system"})
    space: Any = option(kw_only=False, saved=False, says="any space that the inner teacher takes.")
    inside: str = option(default="random", says="teacher that chooses the tasks.")

    def setup(self) -> None:
        self.part = make(
            *(self.inside, self.space, self.seed),
            return_range=self.return_range,
            max_in_flight=self.max_in_flight,
        )
        self.domain = getattr(self.part, "domain", None)
        self.needs, self.uses = self.part.needs, self.part.uses
        self.asks = type(self).asks | self.part.asks
        self._ids = PartIds([self.part])
        self.begin(self.part.signature)

    @abstractmethod
    def _choose(self, k: int) -> list[Any]:
        """Return k keys of texts, JSON-able."""

    @abstractmethod
    def text_of(self, key: Any) -> str:
        """Return the text of a key."""

    @abstractmethod
    def _credit(self, key: Any, evidence: Sequence[Evidence]) -> None:
        """Learn from the outcomes of a text, in order."""

    def joinable(self) -> frozenset[int]:
        return self._ids.joinable()

    def _expect(self, outcomes: int) -> None:
        self.part.expect(outcomes)

    def distribution(self) -> Any:
        return self.part.distribution()

    def sample(self) -> Any:
        # Do not propose: `update` reports outcomes without an id, so the part's proposal would never be answered.
        return self.part.sample()

    def _draw(self, k: int) -> list[Draw]:
        proposals, keys = self.part.propose(k), self._choose(k)
        draws = [
            Draw(
                *([p.id, key], p.task, p.prob, p.origin, p.n, p.train),
                {**self._ids.translate(0, p.meta), "system": self.text_of(key)},
            )
            for p, key in zip(proposals, keys, strict=True)
        ]
        self._ids.remember([0] * k, proposals, self._next_id)
        return draws

    def _record(self, task: Any) -> Any:
        return [[self.part._plain_record(task)], None]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            if item.record[1] is not None:
                self._credit(item.record[1], [item])
        direct = [replace(item, record=item.record[0][0]) for item in evidence if isinstance(item.record[0], list)]
        if direct:
            self.part._counts["observed"] += len(direct)
            self.part._learn(direct)
        proposed = [item for item in evidence if isinstance(item.record[0], int)]
        if proposed:
            self.part.observe([replace(item.outcome, id=item.record[0]) for item in proposed])

    def _metrics(self) -> dict[str, float]:
        return {f"inside/{name}": value for name, value in self.part.metrics().items()}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "inside": self.part.state_dict(), **self._ids.save()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self.part.load_state_dict(own["inside"])
        self._ids.restore(own)


@register("prior-prompts")
class PriorPrompts(SystemTexts):
    """Lets a bandit choose among templates that say how to approach a question: think, plan, write code, recall
    knowledge, give examples.

    The paper trains one policy per template and asks for half of the reward by the format, as the recipe
    "prior_prompts" does; the choice among them is ours. Evaluate with one of the texts as ``--system``.
    """

    paper = "2505.14157"
    when = "A model that follows system prompts, where it is open which way of thinking it should be trained in."
    templates: Sequence[str] = option(
        default=("think", "plan", "code", "knowledge", "examples"),
        check=check_texts,
        says="names of registered templates (`PRIOR_PROMPTS`); with one, all tasks have it.",
    )
    chooser: str = option(default="thompson", says="arm teacher that chooses the template.")
    chooser_options: Mapping[str, Any] | None = option(
        default=None, says='options of ``chooser``; by default target=1 for "thompson", which takes the best template.'
    )

    def setup(self) -> None:
        super().setup()
        for name in self.templates:
            PRIOR_PROMPTS[name]  # raises for an unknown name
        options = {"target": 1.0} if self.chooser == "thompson" else {}
        options = options if self.chooser_options is None else dict(self.chooser_options)
        arms = gym.spaces.Discrete(len(self.templates))
        self._chooser = make(self.chooser, arms, self.seed, return_range=self.return_range, **options)
        self.needs |= self._chooser.needs

    def _choose(self, k: int) -> list[Any]:
        return [[int(proposal.task), proposal.id] for proposal in self._chooser.propose(k)]

    def text_of(self, key: Any) -> str:
        return PRIOR_PROMPTS[self.templates[int(key[0])]].text

    def _credit(self, key: Any, evidence: Sequence[Evidence]) -> None:
        self._chooser.observe([replace(item.outcome, id=key[1], task=key[0]) for item in evidence])

    def _metrics(self) -> dict[str, float]:
        own = {f"templates/{name}": value for name, value in self._chooser.metrics().items()}
        return {**super()._metrics(), **own}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "chooser": self._chooser.state_dict()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._chooser.load_state_dict(own["chooser"])
