"""palaestra/WebAcross-v0: tasks across several sites in one browser, where one site names what to do on another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..axes import ChoiceAxis, FloatAxis, IntAxis
from ..param_space import ParamSpace
from ..registration import register
from .web_task import WebTaskEnv

if TYPE_CHECKING:
    from .tasks.template import WebTemplate


class AcrossTasks(WebTaskEnv):
    """Do on one site what others name, in a browser that has several.

    Description:
        Two or three sites in one browser, each below a path of its own (``/forum/``, ``/shop/`` ...), with links
        between them: a project tracker, a forum, an encyclopaedia, a shop, a booking site and an admin panel, which are
        those of the other families. A comment on a ticket, a reply in a thread or the text of an article names a
        product, a room, a user or an article, or where that is named; somebody else there names another one. A task is
        one of 12 templates: report a price or a value, compare prices, fill the cart, book, move or suspend a user,
        watch. A change on any of the sites that nobody asked for is a failure. The sites are made anew from a seed;
        held-out tasks are on other sites than those of training.

    Parameters:
        records (24 to 72, on request up to 160): how many products, threads, tickets, rooms, users or articles each
            site has.
        sites (2 to 3): how many sites a task needs.
        constraints (1 to 3): conditions on what is to be done, where the site has some.
        slack (1.5 to 0.5, harder downwards; on request 0.0 to 10.0): turns beyond those of the scripted solver, as a
            share of them; two more are given.
        intent (report, act): the kind of task; none is harder than the other.

    Observation:
        Text: the task, and the page as its accessibility tree (``observation="html"``: as simplified HTML), at most
        ``lines`` (60) of it at once. What comes from the page stands in quotation marks.

    Actions:
        One of ``click [12]``, ``fill [7] "text"``, ``select [9] "Large"``, ``press [7] Enter``, ``scroll down``,
        ``back``, ``goto /path`` and ``answer "text"``, with the ids of the observation, read in ``answer_format``.

    Reward:
        1 for an answer with which everything is done: the database has changed as asked and in nothing else, and the
        answer is right where one is asked for. 0 otherwise. ``info["progress"]`` and the extra ``milestones`` count the
        pages that have to be seen and the rows that have to change.

    Termination:
        With the answer. Truncated after the turns that ``slack`` leaves. An action that cannot be done is an
        ``action_error`` and uses one up.

    Source:
        WebArena (arXiv 2307.13854) has tasks that need several of its sites; sites and tasks are our own.

    Args:
        backend: "inprocess" (default: the site is called directly, no browser is started) or "chromium" (the same
            tasks, observations and rewards in a real browser; pictures with ``render_mode="rgb_array"``).
        observation, lines, prompt, templates: see `WebTaskEnv`.
        **kwargs: as for every environment.
    """

    site, size_axis = "across", "records"
    param_space = ParamSpace(
        [
            IntAxis("records", 24, 72, limits=(24, 160)),
            IntAxis("sites", 2, 3),
            IntAxis("constraints", 1, 3),
            FloatAxis("slack", 0.5, 1.5, harder="down", limits=(0.0, 10.0)),
            ChoiceAxis("intent", ("report", "act"), harder=None),
        ]
    )

    def choose_templates(self, params: dict[str, Any]) -> Sequence[WebTemplate]:
        from .tasks.across_clues import ClueTemplate

        every = super().choose_templates(params)
        return [one for one in every if isinstance(one, ClueTemplate) and len(one.sites) == params["sites"]]


register("palaestra/WebAcross-v0", f"{__name__}:AcrossTasks")
