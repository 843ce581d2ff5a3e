"""Scripts of conversations between roles, as data: who speaks when, who sees what, and what pays each role.

A `RoleScript` is a tuple of lines, spoken in order. A line is said once, or ``count`` times, about each text of the
line that it is ``about``, so that the utterances of a conversation form a tree under the question. A prompt may name
the question, ``{question}``, and the text of any line on the path to it, ``{solver}``. The four scripts here are of
papers; `read_script` reads others from a TOML file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ....checks import check_choice, check_count
from ....errors import InputError, unknown_name


def _in_tag(text: str, tag: str) -> str | None:
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[-1].strip() or None if found else None


def _read_score(text: str) -> float | None:
    inner = _in_tag(text, "score")
    try:
        value = float(inner) / 10 if inner is not None else -1.0
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


READS: dict[str, Callable[[str], Any]] = {
    "answer": lambda text: text,
    "text": lambda text: text,
    "question": lambda text: _in_tag(text, "question"),
    "mark": lambda text: next((int(word) for word in re.findall(r"\d+", text)[-1:] if word in ("1", "2", "3")), None),
    "score": _read_score,
}
"""Kind of a line -> function that reads its text, with None for a text that cannot be read: "answer" to the
environment's question, any "text", a "question" within its tag, a "mark" from 1 to 3, or a "score" from 0 to 10 within
its tag, divided by 10."""


@dataclass(frozen=True)
class ScriptLine:
    """A turn of a script.

    Attributes:
        role: the role that speaks; it names the policy, the episodes and what pays them.
        says: the prompt, with ``{question}``, ``{example}`` (the environment's question or one of the pool),
            ``{history}``, and names of earlier lines on the path.
        terse: the prompt for small models that read single characters; empty: ``says``.
        name: name of the line; empty: the role.
        about: name of the line that it is said about; empty: the question itself.
        count: utterances about each text; 0: the samples of the run.
        kind: how its text is read, see `READS`.
        gives: line on the path, or the line itself -> extra that gets the value read from the text. With "[]" at its
            end, the extra is a list of all values.
        asks: name of the line on the path whose text is the question; empty: the environment's.
    """

    role: str
    says: str
    terse: str = ""
    name: str = ""
    about: str = ""
    count: int = 1
    kind: str = "text"
    gives: Mapping[str, str] = field(default_factory=dict)
    asks: str = ""

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(READS))
        check_count(f"count of the line {self.name or self.role!r}", self.count, 0)
        object.__setattr__(self, "name", self.name or self.role)

    @property
    def answers(self) -> bool:
        """True if the environment judges the text."""
        return self.kind == "answer" and not self.asks


@dataclass(frozen=True)
class RoleScript:
    """A conversation between roles.

    Attributes:
        lines: the turns, in the order in which they are spoken.
        pays: role -> reward of its episodes, as for ``--shaping``; "" trains nothing. Roles that are not named get the
            environment's reward. With the key "*", one reward is for all episodes of a task together.
        reported: role whose episodes are reported to the teacher, and are the first group of a task.
        shared: True if roles that speak in a row are paid the sum of their rewards.
        rounds: times that the lines are spoken; from the second on, the first line is said about itself.
        horizon: past rounds that ``{history}`` shows.
        swap: updates after which the policies of the first two roles are exchanged; 0: never.
        pool: most accepted questions that are kept, half of which replace the environment's in later prompts.
        accepts: score from which a question enters the pool.
        agents: number of agents, "agent_0" and so on, who have the policies; each line of a round and a task is spoken
            by one of them, drawn anew, and by different ones while there are enough. 0: each role has its policy.
    """

    lines: tuple[ScriptLine, ...]
    pays: Mapping[str, str] = field(default_factory=dict)
    reported: str = ""
    shared: bool = False
    rounds: int = 1
    horizon: int = 2
    swap: int = 0
    pool: int = 0
    accepts: float = 0.7
    agents: int = 0

    def __post_init__(self) -> None:
        names: list[str] = []
        for line in self.lines:
            for word, about in (("about", line.about), ("asks", line.asks)):
                if about and about not in names:
                    raise InputError(f"{word} of the line {line.name!r} must name an earlier line, not {about!r}.")
            if line.name in names:
                raise InputError(f"two lines of a script are called {line.name!r}; give one another name.")
            names.append(line.name)
        if not names:
            raise InputError("a script needs at least one line.")
        object.__setattr__(self, "reported", self.reported or self.lines[0].role)
        for role in (self.reported, *self.pays):
            if role not in (*self.roles, "*"):
                raise unknown_name("role of the script", role, self.roles)
        for number, low in (("rounds", 1), ("horizon", 0), ("swap", 0), ("pool", 0), ("agents", 0)):
            check_count(number, getattr(self, number), low)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles, in the order of their first line."""
        return tuple(dict.fromkeys(line.role for line in self.lines))

    @property
    def players(self) -> tuple[str, ...]:
        """Names of those who can have different policies: the agents, or else the roles."""
        return tuple(f"agent_{number}" for number in range(self.agents)) or self.roles

    @property
    def provides(self) -> frozenset[str]:
        """Names of the extras that the episodes have."""
        return frozenset(name.removesuffix("[]") for line in self.lines for name in line.gives.values()) | {"agent"}


def debate(rounds: int = 2, critics: int = 1, horizon: int = 2, agents: int = 0) -> RoleScript:
    """Solve, criticise and mark (CoMAS; the paper has 8 rounds of 4 agents)."""
    marked = {"solver": "mark", "critic": "mark", "scorer": "mark"}
    return RoleScript(
        (
            ScriptLine("solver", "{question}\n{history}", "{question}{history}", count=0, kind="answer"),
            ScriptLine(
                "critic",
                "Question: {question}\nSolution: {solver}\nFind the flaws of the solution.",
                "{question} {solver}?",
                about="solver",
                count=critics,
            ),
            ScriptLine(
                "scorer",
                "Question: {question}\nSolution: {solver}\nCritique: {critic}\nMark the solution: 3 if it withstands "
                "the critique, 2 if it does in part, 1 if it does not. Answer with the mark alone.",
                "{question} {solver} {critic}!",
                about="critic",
                kind="mark",
                gives=marked,
            ),
        ),
        {
            "solver": "comas(role='solution')",
            "critic": "comas(role='critique')",
            "scorer": "comas(role='scorer')",
        },
        rounds=rounds,
        horizon=horizon,
        agents=agents,
    )


def proposer_solver_judge(solvers: int = 0, pool: int = 1000, accepts: float = 0.7) -> RoleScript:
    """Propose a question, solve it, and judge both (Multi-Agent Evolve)."""
    asked = "Question: {asked}\nEnd with the answer alone in <answer> and </answer>."
    judged = (
        "Question: {asked}\nAnswer: {%s}\nJudge the answer: give a score from 0 (wrong) to 10 (right) in <score> and "
        "</score>."
    )
    return RoleScript(
        (
            ScriptLine("solver", asked.replace("asked", "question"), count=solvers, kind="answer"),
            ScriptLine(
                "judge",
                judged.replace("asked", "question") % "solver",
                name="judge_of_answer",
                about="solver",
                kind="score",
                gives={"solver": "judge_score"},
            ),
            ScriptLine(
                "proposer",
                "Write a new question that is neither too easy nor too hard, in <question> and </question>. Example: "
                "{example}",
                kind="question",
            ),
            ScriptLine(
                "judge",
                "Question: {proposer}\nJudge the question: give a score from 0 (unclear or without an answer) to 10 "
                "(clear, and with one answer) in <score> and </score>.",
                name="judge_of_question",
                about="proposer",
                kind="score",
                gives={"proposer": "judge_score"},
            ),
            ScriptLine(
                "solver",
                asked.replace("asked", "proposer"),
                name="solver_of_proposed",
                about="proposer",
                count=solvers,
                kind="answer",
                asks="proposer",
            ),
            ScriptLine(
                "judge",
                judged.replace("asked", "proposer") % "solver_of_proposed",
                name="judge_of_proposed",
                about="solver_of_proposed",
                kind="score",
                gives={"solver_of_proposed": "judge_score", "proposer": "solver_scores[]"},
            ),
        ),
        {
            "solver": "multi-agent-evolve(role='solver')",
            "judge": "multi-agent-evolve(role='judge')",
            "proposer": f"multi-agent-evolve(role='proposer', threshold={accepts!r})",
        },
        pool=pool,
        accepts=accepts,
    )


def pioneer_observer(swap: int = 5) -> RoleScript:
    """Answer; another role sees the answer and answers, too; both get the sum of their rewards (CORY)."""
    return RoleScript(
        (
            ScriptLine("pioneer", "{question}", count=0, kind="answer"),
            ScriptLine(
                "observer",
                "{question}\nAnother answer to this is: {pioneer}",
                "{pioneer}|{question}",
                about="pioneer",
                kind="answer",
            ),
        ),
        shared=True,
        swap=swap,
    )


def panel(members: int = 3) -> RoleScript:
    """Let several members answer, and pay agreement with their weighted vote (RLCCF)."""
    lines = (ScriptLine(f"member_{number}", "{question}", count=0, kind="answer") for number in range(members))
    return RoleScript(tuple(lines), {"*": "rlccf"})


def read_script(path: str | Path) -> RoleScript:
    """Read a script from a TOML file: the fields of `RoleScript`, and ``[[lines]]`` with the fields of `ScriptLine`.

    Raises:
        InputError: there is no such file, or an entry is unknown or missing.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the script {str(path)!r} cannot be read ({error}); give a TOML file.") from error
    lines = data.pop("lines", [])
    for kind, entries in ((RoleScript, data), *((ScriptLine, line) for line in lines)):
        known = [item.name for item in fields(kind)]
        for name in entries:
            if name not in known:
                raise unknown_name(f"entry of the script {str(path)!r}", name, known)
    try:
        return RoleScript(tuple(ScriptLine(**line) for line in lines), **data)
    except TypeError as error:
        raise InputError(f"the script {str(path)!r} has a line without role or says ({error}).") from error
