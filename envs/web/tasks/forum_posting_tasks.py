"""Templates of the forum that write: replies, edits, a thread, a report to the moderators."""

from __future__ import annotations

from ..sites.forum import POSTS, THREADS
from ..sites.forum_content import BOARDS, KINDS, REASONS_TO_REPORT, VISITOR
from ..sites.list_page import name_all
from .draws import best_of, pick, pick_several, quote_titles
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

_TEXTS = (
    "Mine does the same, and I got used to it.",
    "Thank you, that was it!",
    "Please post a picture of it.",
    "I would ask in the shop first.",
    "Does anybody know how old it is?",
    "I have one to give away; write to me.",
    "Ça marche très bien, merci.",
)


@add_template
class WriteReply(WebTemplate):
    """Reply to threads, to each with a given text."""

    site, name, intent, objects, pages = "forum", "write-reply", "write", "threads", ("/thread/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = THREADS.select(database, "NOT t.locked")
        chosen = pick_several(rng, rows, params["items"])
        texts = pick_several(rng, _TEXTS, params["items"])
        return {"threads": tuple((row["id"], row["title"]) for row in chosen), "texts": tuple(texts)}

    def ask(self, slots: Slots) -> str:
        pairs = zip(slots["threads"], slots["texts"], strict=True)
        parts = [f'to the thread "{title}" with the text "{text}"' for (_, title), text in pairs]
        return f"Reply {name_all(parts)}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        pairs = zip(slots["threads"], slots["texts"], strict=True)
        rows = tuple((thread, VISITOR, text, 0) for (thread, _), text in pairs)
        return Goal(added={"posts": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (_, title), text in zip(slots["threads"], slots["texts"], strict=True):
            THREADS.open_row(walk, title)
            walk.fill("Your reply", text)
            walk.click("button", "Post reply")


@add_template
class EditPost(WebTemplate):
    """Replace the text of the visitor's posts, or add a sentence to them."""

    site, name, intent, objects, pages = "forum", "edit-post", "write", "posts", ("/post/{0}/edit",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "p.author = ? AND (SELECT count(*) FROM posts o WHERE o.thread = p.thread AND o.author = p.author) = 1"
        rows = POSTS.select(database, sql, VISITOR)
        if len(rows) < params["items"]:
            return None
        chosen = pick_several(rng, rows, params["items"])
        posts = tuple((row["id"], row["thread"], row["title"], row["number"]) for row in chosen)
        return {"posts": posts, "text": pick(rng, _TEXTS), "adds": params["constraints"] > 1}

    def ask(self, slots: Slots) -> str:
        where = quote_titles(slots["posts"], 2)
        posts = "my post in the thread" if len(slots["posts"]) == 1 else "each of my posts in the threads"
        if slots["adds"]:
            return f'Add to {posts} {where}, at its end and after a space, the sentence "{slots["text"]}"'
        return f'Replace the text of {posts} {where} by "{slots["text"]}"'

    def goal(self, database: Database, slots: Slots) -> Goal:
        removed, added = [], []
        for post, thread, _, _ in slots["posts"]:
            (body,) = database.execute("SELECT body FROM posts WHERE id = ?", (post,)).fetchone()
            removed.append((thread, VISITOR, body, 0))
            added.append((thread, VISITOR, f"{body} {slots['text']}" if slots["adds"] else slots["text"], 0))
        return Goal(removed={"posts": tuple(removed)}, added={"posts": tuple(added)}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (_, _, title, number), row in zip(slots["posts"], goal.added["posts"], strict=True):
            THREADS.open_row(walk, title)
            walk.seek("button", f"More on post {number}")
            walk.click("link", f"Edit post {number}")
            walk.fill("Text", row[2])
            walk.click("button", "Save post")


@add_template
class StartThread(WebTemplate):
    """Start a thread in a board."""

    site, name, intent, pages = "forum", "start-thread", "write", ("/new",)
    question = 'Start a thread in the board {board} with the title "{title}" and the text "{text}"'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        board = pick(rng, list(BOARDS))
        title = f"Looking for a {pick(rng, KINDS[1:])}{pick(rng, BOARDS[board][1])}"
        return {"board": board, "title": title, "text": pick(rng, _TEXTS)}

    def goal(self, database: Database, slots: Slots) -> Goal:
        (thread,) = database.execute("SELECT max(id) + 1 FROM threads").fetchone()
        board = list(BOARDS).index(slots["board"]) + 1
        row = (thread, board, slots["title"], VISITOR, 0, 0)
        return Goal(
            added={"threads": (row,), "posts": ((thread, VISITOR, slots["text"], 0),)}, milestone_pages=self.pages
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "New thread")
        walk.select("Board", slots["board"])
        walk.fill("Title", slots["title"])
        walk.fill("Text", slots["text"])
        walk.click("button", "Start thread")


@add_template
class ReportPost(WebTemplate):
    """Report a user's post, given by its number or as the post with the most votes."""

    site, name, intent, pages = "forum", "report-post", "write", ("/thread/{thread}", "/post/{id}/report")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        every, by_votes = POSTS.select(database, "p.author <> ?", VISITOR), params["constraints"] > 1
        post = pick(rng, every)
        if by_votes:
            same = [row for row in every if (row["thread"], row["author"]) == (post["thread"], post["author"])]
            post = best_of(same, "votes") if len(same) > 1 else None
        if post is None:
            return None
        comment = pick(rng, _TEXTS) if params["constraints"] > 2 else ""
        names = ("id", "thread", "title", "number", "author_name")
        about = {"by_votes": by_votes, "reason": pick(rng, REASONS_TO_REPORT), "comment": comment}
        return {**{name: post[name] for name in names}, **about}

    def ask(self, slots: Slots) -> str:
        user = slots["author_name"]
        post = f"the post of {user} with the most votes" if slots["by_votes"] else f"post {slots['number']} by {user}"
        comment = f' and the comment "{slots["comment"]}"' if slots["comment"] else ""
        return f'Report {post} in the thread "{slots["title"]}" to the moderators: reason "{slots["reason"]}"{comment}.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        row = (slots["id"], slots["reason"], slots["comment"])
        return Goal(added={"reports": (row,)}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        THREADS.open_row(walk, slots["title"])
        walk.seek("button", f"More on post {slots['number']}")
        walk.click("link", f"Report post {slots['number']} by {slots['author_name']}")
        walk.select("Reason", slots["reason"])
        walk.fill("Comment", slots["comment"])
        walk.click("button", "Send report")
