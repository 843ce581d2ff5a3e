"""Changes of a draft, each of which makes it keep one instruction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...rewards.verifiers.text_parts import count_words, words_of
from .draft import FOREIGN, TOPICS, Draft, choose

Shape = Callable[[Draft, np.random.Generator], None]


def some_sentences(change: Callable[[str, np.random.Generator], str], most: int = 3) -> Shape:
    """Change one to ``most`` sentences of the draft."""

    def shape(draft: Draft, rng: np.random.Generator) -> None:
        count = int(rng.integers(1, most + 1))
        for place in rng.permutation(len(draft.sentences))[:count].tolist():
            draft.sentences[place] = change(draft.sentences[place], rng)

    return shape


def before_end(*pieces: str) -> Callable[[str, np.random.Generator], str]:
    """Return a change that puts one of the pieces before the full stop of a sentence."""
    return lambda sentence, rng: f"{sentence[:-1]} {choose(rng, pieces)}{sentence[-1]}"


def around_last(opening: str, closing: str) -> Callable[[str, np.random.Generator], str]:
    """Return a change that encloses the last word of a sentence."""

    def change(sentence: str, rng: np.random.Generator) -> str:
        before, _, last = sentence[:-1].rpartition(" ")
        return f"{before} {opening}{last}{closing}{sentence[-1]}"

    return change


def as_lines(line: Callable[[int, str], str], between: str = "\n") -> Shape:
    """Lay the sentences out, each by ``line(n, sentence)``, n from 1."""

    def shape(draft: Draft, rng: np.random.Generator) -> None:
        draft.text = between.join(line(n, sentence) for n, sentence in enumerate(draft.sentences, 1))

    return shape


def whole_text(change: Callable[[str], str]) -> Shape:
    """Apply a function to the text."""

    def shape(draft: Draft, rng: np.random.Generator) -> None:
        draft.text = change(draft.text)

    return shape


def chain(draft: Draft, rng: np.random.Generator) -> None:
    """Begin each sentence with the last word of the one before."""
    for n in range(1, len(draft.sentences)):
        last = words_of(draft.sentences[n - 1])[-1]
        draft.sentences[n] = f"{last.capitalize()} and {draft.sentences[n][:1].lower()}{draft.sentences[n][1:]}"


def frame(draft: Draft, rng: np.random.Generator) -> None:
    """Repeat the first sentence at the end."""
    draft.sentences.append(draft.sentences[0])


def grow_sentences(draft: Draft, rng: np.random.Generator) -> None:
    """Make each sentence longer than the one before."""
    draft.sentences = [
        f"{' '.join(['Now', *['and then'] * n])} {s[0].lower()}{s[1:]}"
        for n, s in enumerate(sorted(draft.sentences, key=count_words))
    ]


def start_alike(draft: Draft, rng: np.random.Generator) -> None:
    """Begin all sentences with the same word."""
    draft.facts["start"] = start = choose(rng, ("Often", "Perhaps", "Today", "Then"))
    draft.sentences = [f"{start} {sentence[:1].lower()}{sentence[1:]}" for sentence in draft.sentences]


def alliterate(draft: Draft, rng: np.random.Generator) -> None:
    """Write sentences whose words have the same initial."""
    words = ("silent", "ships", "sail", "south", "seven", "sisters", "sing", "soft", "songs", "some", "seals", "sleep")
    draft.facts["initial"] = "s"
    counts = rng.integers(3, 6, 3).tolist()
    draft.sentences = [f"{' '.join(rng.permutation(words)[:count].tolist()).capitalize()}." for count in counts]


def acrostic(draft: Draft, rng: np.random.Generator) -> None:
    """Write lines whose initials spell a word of the topic."""
    draft.facts["acrostic"] = word = choose(rng, [noun for noun in TOPICS[draft.topic] if len(noun) < 7])
    lines = [draft.sentences[n % len(draft.sentences)] for n in range(len(word))]
    draft.text = "\n".join(f"{letter.upper()}: {line}" for letter, line in zip(word, lines))


def grow_lines(draft: Draft, rng: np.random.Generator) -> None:
    """Sort the sentences by length, one a line."""
    draft.text = "\n".join(sorted(dict.fromkeys(draft.sentences), key=len))


def mark_lines(name: str, marks: tuple[str, ...], before: bool) -> Shape:
    """Put one of the marks before or after each line."""

    def shape(draft: Draft, rng: np.random.Generator) -> None:
        draft.facts[name] = mark = choose(rng, marks)
        draft.text = "\n".join(f"{mark} {s}" if before else f"{s} {mark}" for s in draft.sentences)

    return shape


def split_by(mark: str, two: bool = False) -> Shape:
    """Separate all sentences, or the first from the rest, by lines of a mark."""

    def shape(draft: Draft, rng: np.random.Generator) -> None:
        draft.facts["mark"] = mark
        parts = [" ".join(draft.sentences[:1]), " ".join(draft.sentences[1:])] if two else draft.sentences
        draft.text = f"\n{mark}\n".join(parts)

    return shape


def as_paragraphs(draft: Draft, rng: np.random.Generator) -> None:
    """Make each sentence a paragraph."""
    draft.text = "\n\n".join(draft.sentences)


def as_sections(draft: Draft, rng: np.random.Generator) -> None:
    """Make each sentence a section with a number."""
    draft.text = "\n".join(f"SECTION {n}\n{sentence}" for n, sentence in enumerate(draft.sentences, 1))


def translate(draft: Draft, rng: np.random.Generator) -> None:
    """Replace the sentences by those of another language."""
    draft.facts["language"] = language = choose(rng, [*FOREIGN])
    draft.sentences = rng.permutation(FOREIGN[language])[: max(2, len(draft.sentences) - 1)].tolist()


def capitalise_some(draft: Draft, rng: np.random.Generator) -> None:
    """Write a few words in capital letters."""
    words = draft.text.split(" ")
    for place in rng.permutation(len(words))[: int(rng.integers(1, 5))].tolist():
        words[place] = words[place].upper()
    draft.text = " ".join(words)


def put(name: str, texts: tuple[str, ...], before: bool) -> Shape:
    """Put one of the texts before or after the text."""

    def shape(draft: Draft, rng: np.random.Generator) -> None:
        draft.facts[name] = text = choose(rng, texts)
        draft.text = f"{text} {draft.text}" if before else f"{draft.text} {text}"

    return shape


def repeat_request(draft: Draft, rng: np.random.Generator) -> None:
    """Put the request before the text."""
    draft.facts["request"] = f"Write a text about {draft.topic}."
    draft.text = f"{draft.facts['request']} {draft.text}"


def put_tags(draft: Draft, rng: np.random.Generator) -> None:
    """Put the text between tags."""
    draft.facts["tag"] = tag = choose(rng, ("note", "story", "text"))
    draft.text = f"<{tag}>{draft.text}</{tag}>"


def add_postscript(draft: Draft, rng: np.random.Generator) -> None:
    """Add a postscript."""
    draft.facts["postscript"] = marker = choose(rng, ("P.S.", "P.P.S"))
    draft.text = f"{draft.text}\n\n{marker} That was all."
