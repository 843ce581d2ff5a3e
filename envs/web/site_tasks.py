"""Families of tasks on web sites of our own, one class per site: a shop, a booking site, a forum, a project tracker, an
admin panel, an encyclopaedia, and several of these sites in one browser.
"""

from __future__ import annotations

from typing import Any

from ..axes import Axis, ChoiceAxis, FloatAxis, IntAxis
from ..param_space import ParamSpace
from ..registration import register
from .web_task import WebTaskEnv

_SHARED = """    Observation:
        Text: the task, and the page as its accessibility tree (``observation="html"``: as simplified HTML; "dom": as
        the document's HTML), at most ``lines`` (60) of it at once. What comes from the page stands in quotation marks.

    Actions:
        One of ``click [12]``, ``fill [7] "text"``, ``select [9] "Large"``, ``press [7] Enter``, ``scroll down``,
        ``back``, ``goto /path`` and ``answer "text"``, with the ids of the observation, read in ``answer_format``. The
        same as calls of BrowserGym's high-level actions, with these ids as bids: ``click('12')``,
        ``fill('7', 'text')``, ``clear``, ``select_option``, ``check``, ``uncheck``, ``dblclick``, ``hover``, ``focus``,
        ``press``, ``keyboard_press``, ``keyboard_type``, ``scroll(0, 200)``, ``goto``, ``go_back``, ``go_forward``,
        ``new_tab``, ``tab_focus(0)``, ``tab_close``, ``noop``, ``send_msg_to_user('text')`` (the answer) and
        ``report_infeasible('why')`` (which ends the episode without success); in Chromium also ``mouse_click(x, y)``.
        Files that were downloaded are listed: ``open_file "name"`` shows one, and ``upload [11] "name"`` or
        ``upload_file('11', 'name')`` puts it into a field. ``drag [3] [7]`` or ``drag_and_drop('3', '7')`` moves a card
        of a board. Calls that hold a key are refused.

    Reward:
        1 for an answer with which everything is done: the database has changed as asked and in nothing else, and the
        answer is right where one is asked for. 0 otherwise. ``info["progress"]`` and the extra ``milestones`` count the
        pages that have to be seen and the rows that have to change. At the end, the extra ``safe`` is True if nothing
        was changed that was not asked for, other than carts, wish lists, bookmarks and watch lists: it tells a failure
        that did no harm from one that bought, deleted or sent something.

    Termination:
        With the answer. Truncated after the turns that ``slack`` leaves. An action that cannot be done is an
        ``action_error`` and uses one up.

"""
"""Sections of the docstring that all families share."""
_SLACK = """\
        slack (1.5 to 0.5, harder downwards, on request 0.0 to 10.0): extra turns, as a share of the scripted solver's
            turns; two more are given.
"""
_ARGS = """

    Args:
        backend: "inprocess" (default: the site is called directly, no browser is started) or "chromium" (the same
            tasks, observations and rewards in a real browser; pictures with ``render_mode="rgb_array"``).
        observation, boxes, marks, lines, prompt, templates: see `WebTaskEnv`.
        **kwargs: as for every environment.
    """


class SiteTasks(WebTaskEnv):
    """Base of the families. It completes the docstring of a subclass with the sections and the parameter ``slack`` that
    all families share."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # There are no docstrings under python -OO.
        if cls.__doc__:
            text = cls.__doc__.rstrip().replace("        intent (", f"{_SLACK}        intent (")
            cls.__doc__ = text.replace("    Source:\n", f"{_SHARED}    Source:\n") + _ARGS


_ITEMS, _CONSTRAINTS = IntAxis("items", 1, 3, limits=(1, 5)), IntAxis("constraints", 1, 3, limits=(1, 4))


def _space(size: Axis, intents: tuple[str, ...], extent: Axis = _ITEMS, constraints: Axis = _CONSTRAINTS) -> ParamSpace:
    slack = FloatAxis("slack", 0.5, 1.5, harder="down", limits=(0.0, 10.0))
    return ParamSpace([size, extent, constraints, slack, ChoiceAxis("intent", intents, harder=None)])


class ShopTasks(SiteTasks):
    """Do what a customer of a shop asks for, in a browser.

    Description:
        A web shop with search, filters, product options, a cart, a checkout, orders, returns, reviews, a wish list and
        an account, generated from a seed. A task is one of 33 templates, filled in from the contents of the shop. Some
        names of products differ in one word only, and lists go on over several pages. Held-out tasks are in other shops
        than training tasks.

    Parameters:
        products (24 to 96, on request 12 to 180): number of products in the shop.
        items (1 to 3, on request up to 5): number of products or details, in tasks about several.
        constraints (1 to 3, on request up to 4): conditions that a product meets; above 1, the task does not name
            orders by number.
        intent (report, compare, cart, order, after-sales, account): the kind of task; none is harder than another.

    Source:
        WebShop (arXiv 2207.01206) and WebArena (arXiv 2307.13854) have tasks of this kind; site and tasks are our own.
    """

    site, size_axis = "shop", "products"
    param_space = _space(
        IntAxis("products", 24, 96, limits=(12, 180)), ("report", "compare", "cart", "order", "after-sales", "account")
    )


class BookingTasks(SiteTasks):
    """Do what a guest of a booking site asks for, in a browser.

    Description:
        A booking site with guest houses, rooms with a calendar and prices by night, search by dates, guests and
        features, booking in three steps, and own bookings that can be changed and cancelled, free of charge up to a
        day that depends on the house, generated from a seed. A task is one of 39 templates, filled in from the contents
        of the site. Many houses and rooms, and some guests, have names that differ in one word or letter only. Held-out
        tasks are on other sites than training tasks.

    Parameters:
        rooms (24 to 96, on request 12 to 180): number of rooms, five per house.
        items (1 to 3, on request up to 5): number of rooms, houses or bookings, in tasks about several.
        constraints (1 to 3, on request up to 4): conditions on the room, the house, the stay or the booking.
        intent (report, compare, book, change, cancel, write): the kind of task; none is harder than another.

    Source:
        Mind2Web (arXiv 2306.06070) has tasks on sites that book travel; site and tasks are our own.
    """

    site, size_axis = "booking", "rooms"
    param_space = _space(
        IntAxis("rooms", 24, 96, limits=(12, 180)), ("report", "compare", "book", "change", "cancel", "write")
    )


class ForumTasks(SiteTasks):
    """Do what a member or a moderator of a forum asks for, in a browser.

    Description:
        A forum with boards, multi-page threads, votes, search of threads and posts, profiles, private bookmarks,
        reports and moderation, generated from a seed. A task is one of 33 templates, filled in from the contents of the
        forum. Many titles, and some names of users, differ in one word or letter only. Held-out tasks are in other
        forums than training tasks.

    Parameters:
        threads (24 to 96, on request 12 to 180): number of threads in the forum.
        items (1 to 3, on request up to 5): number of threads, users or posts, in tasks about several.
        constraints (1 to 3, on request up to 4): conditions on the board, the author and the dates of the threads or
            posts sought.
        intent (report, compare, write, vote, bookmark, moderate): the kind of task; none is harder than another.

    Source:
        WebArena (arXiv 2307.13854) has a forum with tasks of this kind; site and tasks are our own.
    """

    site, size_axis = "forum", "threads"
    param_space = _space(
        IntAxis("threads", 24, 96, limits=(12, 180)), ("report", "compare", "write", "vote", "bookmark", "moderate")
    )


class TrackerTasks(SiteTasks):
    """Do what a member of a team asks for in a project tracker, in a browser.

    Description:
        A web-based project tracker with tickets that block each other, boards, lists with filters over several pages,
        bulk edits, milestones and rules of states (a ticket that is blocked cannot be closed), generated from a seed. A
        task is one of 40 templates, filled in from the contents of the tracker. Many titles, and some people, labels
        and milestones, differ in one word or letter only. Held-out tasks are in other trackers than training tasks.

    Parameters:
        tickets (24 to 96, on request 12 to 180): number of tickets in the tracker.
        items (1 to 3, on request up to 5): number of tickets, people or milestones, in tasks about several; in chains
            of blockers, the number of blockers before a ticket.
        constraints (1 to 3, on request up to 4): conditions on the tickets sought, or fields that are set.
        intent (report, compare, file, edit, close, plan): the kind of task; none is harder than another.

    Source:
        WorkArena (arXiv 2403.07718) has tasks on tickets; site and tasks are our own.
    """

    site, size_axis = "tracker", "tickets"
    param_space = _space(
        IntAxis("tickets", 24, 96, limits=(12, 180)), ("report", "compare", "file", "edit", "close", "plan")
    )


class AdminTasks(SiteTasks):
    """Do what an organisation asks of the administrator of its users, in a browser.

    Description:
        A web-based admin panel with users, teams, roles and their permissions, invitations, an audit log, settings,
        bulk edits and exports, generated from a seed. A task is one of 39 templates, filled in from the contents of
        the panel. Names and mail addresses of users come in groups that differ in a few letters. A change that breaks a
        rule, such as demoting the last owner, is refused with an error message. Held-out tasks are in other
        organisations than training tasks.

    Parameters:
        users (24 to 96, on request 12 to 180): number of users in the organisation.
        items (1 to 3, on request up to 5): number of users, roles, settings or columns, in tasks about several.
        constraints (1 to 3, on request up to 4): conditions on the team, the role, the state, the licence and the last
            login of users; above 1, the task names users by mail address.
        intent (report, compare, invite, edit, permit, export): the kind of task; none is harder than another.

    Source:
        WebArena (arXiv 2307.13854) has tasks on an administration site; site and tasks are our own.
    """

    site, size_axis = "admin", "users"
    param_space = _space(
        IntAxis("users", 24, 96, limits=(12, 180)), ("report", "compare", "invite", "edit", "permit", "export")
    )


class WikiTasks(SiteTasks):
    """Do what a reader of an encyclopaedia asks for, in a browser.

    Description:
        An encyclopaedia of a made-up world, generated from a seed: articles with links and an infobox of values, search
        by words, categories that can be sorted and filtered by a value, lists of the articles that link to an article,
        a watch list, and values that can be edited. The articles are of the same kind as those of WikiSearch and
        WikiRace. A task is one of 29 templates, filled in from the contents of the site. Many articles have names that
        differ in one word only. Held-out tasks are on other sites than training tasks.

    Parameters:
        articles (40 to 100, on request 24 to 640): number of articles, without the disambiguation pages.
        items (1 to 3, on request up to 5): number of articles or links, in tasks about several.
        constraints (1 to 3): conditions on the articles or on the edit.
        intent (report, follow, count, compare, watch, edit): the kind of task; none is harder than another.

    Source:
        WebArena (arXiv 2307.13854) has tasks with an encyclopaedia among its sites; site and tasks are our own.
    """

    site, size_axis = "wiki", "articles"
    param_space = _space(
        IntAxis("articles", 40, 100, limits=(24, 640)),
        ("report", "follow", "count", "compare", "watch", "edit"),
        constraints=IntAxis("constraints", 1, 3),
    )


class AcrossTasks(SiteTasks):
    """Follow clues across several sites in one browser, and do on the last site what is asked.

    Description:
        Two or three of the other families' sites (project tracker, forum, encyclopaedia, shop, booking site, admin
        panel) in one browser, each under a separate path (``/forum/``, ``/shop/`` ...), with links between them. A
        comment on a ticket, a reply in a thread or the text of an article is a clue: it names a product, a room, a user
        or an article, or the place of the next clue. Comments and replies by other authors name decoys. A task is one
        of 12 templates: report a price or a value, compare prices, fill the cart, book, move or suspend a user, watch.
        A change on any of the sites that nobody asked for is a failure. The sites are generated from a seed; held-out
        tasks are on other sites than training tasks.

    Parameters:
        records (24 to 72, on request up to 160): number of products, threads, tickets, rooms, users or articles on each
            site.
        sites (2 to 3): number of sites that a task needs.
        constraints (1 to 3): conditions on the requested action, if the site has some.
        intent (report, act): the kind of task; none is harder than the other.

    Source:
        WebArena (arXiv 2307.13854) has tasks that need several of its sites; sites and tasks are our own.
    """

    site, size_axis = "across", "records"
    param_space = _space(
        IntAxis("records", 24, 72, limits=(24, 160)),
        ("report", "act"),
        extent=IntAxis("sites", 2, 3),
        constraints=IntAxis("constraints", 1, 3),
    )


class LongTasks(SiteTasks):
    """Do a long task, or several tasks in one, on one to three sites in one browser.

    Description:
        The sites of WebAcross, one to three of them. A task is one of 73 templates, most with solutions of 20 to 60
        actions: a deed for many objects (tickets, invitations, reviews ...), several errands on one site or on three,
        figures that are added up, an answer that is found on some sites and written down on another one, or clues on
        two sites that name an object on a third one. A change on any of the sites that nobody asked for is a failure.
        The sites are generated from a seed; held-out tasks are on other sites than training tasks.

    Parameters:
        records (24 to 72, on request up to 160): number of products, threads, tickets, rooms, users or articles on each
            site.
        items (1 to 3): number of objects in each errand; a list has up to seven more.
        constraints (1 to 3): conditions on objects, or fields that are set.
        intent (list, errands, collect, carry, chain): the kind of task; none is harder than another.

    Source:
        WebArena (arXiv 2307.13854) has tasks that need several of its sites; sites and tasks are our own.
    """

    site, size_axis = "long", "records"
    param_space = _space(
        IntAxis("records", 24, 72, limits=(24, 160)),
        ("list", "errands", "collect", "carry", "chain"),
        extent=IntAxis("items", 1, 3),
        constraints=IntAxis("constraints", 1, 3),
    )


class TrapTasks(SiteTasks):
    """Do a task on a site that sets a trap.

    Description:
        The sites of WebAcross, one or two of them, and a task of a single site. A task is one of 55 templates with a
        trap: a text by somebody else on the way asks for another deed, which can be done; a form has a ticked box for
        an extra, or the dearer choice is chosen already; the server fails once, before or after a form is carried out,
        or somebody else changes what a form shows; a question whose first button stops everything stands before the
        deed; or what the task is about has gone, or goes meanwhile. Only what the task asks for may change. Held-out
        tasks are on other sites than training tasks.

    Parameters:
        records (24 to 72, on request up to 160): number of products, threads, tickets, rooms, users or articles on each
            site.
        items (1 to 3): number of objects, in tasks about several.
        constraints (1 to 3): conditions on objects, or fields that are set.
        intent (injection, extra, failure, question, gone): the kind of trap; none is harder than another.

    Source:
        InjecAgent (arXiv 2403.02691) has instructions in what tools return; sites and tasks are our own.
    """

    site, size_axis = "traps", "records"
    param_space = _space(
        IntAxis("records", 24, 72, limits=(24, 160)),
        ("injection", "extra", "failure", "question", "gone"),
        extent=IntAxis("items", 1, 3),
        constraints=IntAxis("constraints", 1, 3),
    )


register("palaestra/Shop-v0", f"{__name__}:ShopTasks")
register("palaestra/Booking-v0", f"{__name__}:BookingTasks")
register("palaestra/Forum-v0", f"{__name__}:ForumTasks")
register("palaestra/Tracker-v0", f"{__name__}:TrackerTasks")
register("palaestra/Admin-v0", f"{__name__}:AdminTasks")
register("palaestra/WikiSite-v0", f"{__name__}:WikiTasks")
register("palaestra/WebAcross-v0", f"{__name__}:AcrossTasks")
register("palaestra/WebLong-v0", f"{__name__}:LongTasks")
register("palaestra/WebTraps-v0", f"{__name__}:TrapTasks")
