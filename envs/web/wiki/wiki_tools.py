"""Tools for the encyclopaedia of a question: search articles by words, and open an article by its title.

The tools work with families that have a method ``corpus_of(task)``. An output has at most about 1,000 characters; the
agent can ask for the next part.
"""

from __future__ import annotations

from typing import ClassVar

from ...question import Question, Task
from ...tools.tool import TOOLS, Arguments, Tool, ToolResult
from .corpus import Corpus, split_words, strip_links
from .wiki_commands import read_command, split_part

# Results shown at a time, and characters per result.
RESULTS, _SNIPPET = 5, 110


class EncyclopaediaTool(Tool):
    """Base of tools that work on the encyclopaedia of the question. A subclass sets ``argument``, the name of the
    tool's argument, and implements `look`."""

    priority = 2
    deed = "use tools"
    form = "a command"
    argument: str

    def parse(self, action: str) -> Arguments | None:
        command = read_command(action)
        if command is None or command[0] != self.name:
            return None
        value, part = split_part(command[1])
        return {self.argument: value[:400], "part": str(part)}

    def refuse(self, arguments: Arguments) -> str | None:
        return None if arguments[self.argument].strip() else f"{self.name}[] needs a {self.argument} in the brackets."

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        find = getattr(question, "corpus_of", None)
        if find is None:
            return ToolResult(failed=True, error="This question has no encyclopaedia.")
        return self.look(find(task), arguments[self.argument], int(arguments["part"]))

    def look(self, corpus: Corpus, text: str, part: int) -> ToolResult:
        """Return the result of the call with the argument ``text``; ``part`` is the part asked for, from 1."""
        raise NotImplementedError(f"{type(self).__name__} must implement look(corpus, text, part).")


@TOOLS.register("search")
class ArticleSearch(EncyclopaediaTool):
    """Search of articles by words, with BM25."""

    name = "search"
    purpose = f"return the {RESULTS} articles of the encyclopaedia that fit the words best"
    parameters: ClassVar = {"query": {"type": "string", "description": "words to search for"}}
    usage = f"write search[WORDS], and the {RESULTS} best articles of the encyclopaedia come back"
    argument = "query"

    def look(self, corpus: Corpus, text: str, part: int) -> ToolResult:
        numbers = corpus.search(text)
        shown = numbers[(part - 1) * RESULTS : part * RESULTS]
        if not shown:
            if part > 1:
                return ToolResult(failed=True, error="There are no further results.")
            return ToolResult(failed=True, error=f"No article has a word of {text[:60]!r}; try other words.")
        words = set(split_words(text))
        lines = []
        for place, number in enumerate(shown, start=(part - 1) * RESULTS + 1):
            # The sentence with the most words of the query, cut to one line.
            texts = [strip_links(sentence.text) for sentence in corpus.articles[number].sentences]
            best = max(texts, key=lambda text: len(words & set(split_words(text))))
            snippet = best if len(best) <= _SNIPPET else best[: _SNIPPET - 3] + "..."
            lines.append(f"{place}. {corpus.articles[number].title}: {snippet}")
        more = len(numbers) - part * RESULTS
        return ToolResult("\n".join(lines) + (f"\n({more} more; next[] shows them)" if more > 0 else ""))


@TOOLS.register("open")
class ArticleOpener(EncyclopaediaTool):
    """Opener of an article by its title or a redirect."""

    name = "open"
    purpose = "return an article of the encyclopaedia, in parts if it is long"
    parameters: ClassVar = {"title": {"type": "string", "description": "title of the article"}}
    usage = "write open[TITLE], and the article comes back, in parts if it is long"
    argument = "title"

    def look(self, corpus: Corpus, text: str, part: int) -> ToolResult:
        number = corpus.find(text)
        if number is None:
            near = ", ".join(corpus.articles[other].title for other in corpus.search(text)[:3])
            error = f"There is no article {text[:60]!r}" + (f"; near: {near}." if near else "; search for it.")
            return ToolResult(failed=True, error=error)
        page = corpus.articles[number]
        parts = page.parts
        if part > len(parts):
            return ToolResult(failed=True, error=f"The article {page.title!r} has no part {part}.")
        of = f" (part {part} of {len(parts)}; next[] goes on)" if len(parts) > part else ""
        text = " ".join(sentence.text for sentence in parts[part - 1])
        return ToolResult(f"{page.title}{of}\n{text}")
