"""palaestra/Tracker-v0: a project tracker on a web site of our own: find, compare, file, edit, close, plan."""

from __future__ import annotations

from ..axes import ChoiceAxis, FloatAxis, IntAxis
from ..param_space import ParamSpace
from ..registration import register
from .web_task import WebTaskEnv


class TrackerTasks(WebTaskEnv):
    """Do what a member of a team asks for in a project tracker, in a browser.

    Description:
        A project tracker on the web with tickets that block each other, boards, lists with filters over several pages,
        bulk edits, milestones and rules of states (a ticket that is blocked cannot be closed), made anew from a seed. A
        task is one of 24 templates, filled in from the contents of the tracker. Many titles, and some people, labels
        and milestones, differ in one word or letter only. Held-out tasks are in other trackers than those of training.

    Parameters:
        tickets (24 to 96, on request 12 to 180): how many tickets the tracker has.
        items (1 to 3, on request up to 5): how many tickets, people or milestones a task is about, where it is about
            several; of chains of blockers, how many lie before a ticket.
        constraints (1 to 3, on request up to 4): conditions on what is looked for, or fields that are set.
        slack (1.5 to 0.5, harder downwards; on request 0.0 to 10.0): turns beyond those of the scripted solver, as a
            share of them; two more are given.
        intent (report, compare, file, edit, close, plan): the kind of task; none is harder than another.

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
        Tasks on tickets are asked for in WorkArena (arXiv 2403.07718); site and tasks are our own.

    Args:
        backend: "inprocess" (default: the site is called directly, no browser is started) or "chromium" (the same
            tasks, observations and rewards in a real browser; pictures with ``render_mode="rgb_array"``).
        observation, lines, prompt, templates: see `WebTaskEnv`.
        **kwargs: as for every environment.
    """

    site, size_axis = "tracker", "tickets"
    param_space = ParamSpace(
        [
            IntAxis("tickets", 24, 96, limits=(12, 180)),
            IntAxis("items", 1, 3, limits=(1, 5)),
            IntAxis("constraints", 1, 3, limits=(1, 4)),
            FloatAxis("slack", 0.5, 1.5, harder="down", limits=(0.0, 10.0)),
            ChoiceAxis("intent", ("report", "compare", "file", "edit", "close", "plan"), harder=None),
        ]
    )


register("palaestra/Tracker-v0", f"{__name__}:TrackerTasks")
