"""palaestra/Admin-v0: an admin panel on a web site of our own: report, compare, invite, edit, permit, export."""

from __future__ import annotations

from ..axes import ChoiceAxis, FloatAxis, IntAxis
from ..param_space import ParamSpace
from ..registration import register
from .web_task import WebTaskEnv


class AdminTasks(WebTaskEnv):
    """Do what an organisation asks of the administrator of its users, in a browser.

    Description:
        An admin panel on the web with users, teams, roles and their permissions, invitations, an audit log, settings,
        bulk edits and exports, made anew from a seed. A task is one of 23 templates, filled in from the contents of
        the panel. Names and mail addresses of users come in groups that differ in a few letters; what breaks a rule,
        such as a last owner who is demoted, is refused with a sentence. Held-out tasks are in other organisations
        than those of training.

    Parameters:
        users (24 to 96, on request 12 to 180): how many users the organisation has.
        items (1 to 3, on request up to 5): how many users, roles, settings or columns a task is about, where it is
            about several.
        constraints (1 to 3, on request up to 4): conditions on the team, the role, the state, the licence and the last
            login of users; above 1, users are named by their mail address.
        slack (1.5 to 0.5, harder downwards; on request 0.0 to 10.0): turns beyond those of the scripted solver, as a
            share of them; two more are given.
        intent (report, compare, invite, edit, permit, export): the kind of task; none is harder than another.

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
        WebArena (arXiv 2307.13854) has tasks on an administration site; site and tasks are our own.

    Args:
        backend: "inprocess" (default: the site is called directly, no browser is started) or "chromium" (the same
            tasks, observations and rewards in a real browser; pictures with ``render_mode="rgb_array"``).
        observation, lines, prompt, templates: see `WebTaskEnv`.
        **kwargs: as for every environment.
    """

    site, size_axis = "admin", "users"
    param_space = ParamSpace(
        [
            IntAxis("users", 24, 96, limits=(12, 180)),
            IntAxis("items", 1, 3, limits=(1, 5)),
            IntAxis("constraints", 1, 3, limits=(1, 4)),
            FloatAxis("slack", 0.5, 1.5, harder="down", limits=(0.0, 10.0)),
            ChoiceAxis("intent", ("report", "compare", "invite", "edit", "permit", "export"), harder=None),
        ]
    )


register("palaestra/Admin-v0", f"{__name__}:AdminTasks")
