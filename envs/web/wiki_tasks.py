"""palaestra/WikiSite-v0: an encyclopaedia on a web site of our own: report, follow, count, compare, watch, edit."""

from __future__ import annotations

from ..axes import ChoiceAxis, FloatAxis, IntAxis
from ..param_space import ParamSpace
from ..registration import register
from .web_task import WebTaskEnv


class WikiTasks(WebTaskEnv):
    """Do what a reader of an encyclopaedia asks for, in a browser.

    Description:
        An encyclopaedia of a made-up world: articles with links and a box of values, search by words, categories that
        are sorted and filtered by a value, what links to an article, a watch list, and values that can be edited. It is
        made anew from a seed; its articles are of the kind that WikiSearch and WikiRace have. A task is one of 13
        templates, filled in from the contents of the site. Many articles have names that differ in one word only.
        Held-out tasks are on other sites than those of training.

    Parameters:
        articles (40 to 100, on request 24 to 640): how many articles there are, besides those
            that tell namesakes apart.
        items (1 to 3, on request up to 5): how many articles or links a task is about, where it is about several.
        constraints (1 to 3): conditions on the articles or what is written.
        slack (1.5 to 0.5, harder downwards; on request 0.0 to 10.0): turns beyond those of the scripted solver, as a
            share of them; two more are given.
        intent (report, follow, count, compare, watch, edit): the kind of task; none is harder than another.

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
        WebArena (arXiv 2307.13854) has tasks with an encyclopaedia among its sites; site and tasks are our own.

    Args:
        backend: "inprocess" (default: the site is called directly, no browser is started) or "chromium" (the same
            tasks, observations and rewards in a real browser; pictures with ``render_mode="rgb_array"``).
        observation, lines, prompt, templates: see `WebTaskEnv`.
        **kwargs: as for every environment.
    """

    site, size_axis = "wiki", "articles"
    param_space = ParamSpace(
        [
            IntAxis("articles", 40, 100, limits=(24, 640)),
            IntAxis("items", 1, 3, limits=(1, 5)),
            IntAxis("constraints", 1, 3),
            FloatAxis("slack", 0.5, 1.5, harder="down", limits=(0.0, 10.0)),
            ChoiceAxis("intent", ("report", "follow", "count", "compare", "watch", "edit"), harder=None),
        ]
    )


register("palaestra/WikiSite-v0", f"{__name__}:WikiTasks")
