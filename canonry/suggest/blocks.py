"""The text of a context: blocks under headers, each within its budget and all within theirs, in characters.

    【知识·角色】林晚
    > 灯塔看守人，左手有烧伤。

A block is whole or not there; its content alone is cut, at its own limit, between two graphemes, with … at its end.
Contents are untrusted data: each of their lines stands behind `> `, so only our own lines begin with 【.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from canonry.errors import UsageError
from canonry.frame import visible_lines
from canonry.suggest.labels import CUT, GUARD, KIND_LABELS, KINDS, TYPE_LABELS

SEPARATOR = "\n\n"
_KNOWLEDGE = "knowledge"
_EXCERPT = 80  # characters of a preview
_LONGEST_TITLE = 120  # characters
_BRACKETS = str.maketrans("【】", "〔〕")


@dataclass(frozen=True, slots=True)
class Budgets:
    """The most characters (Unicode code points) of a content by its kind, of all knowledge blocks, and of the whole text."""

    item: int = 500
    knowledge: int = 4000
    chapter: int = 2000
    other: int = 500
    whole: int = 16 * 1024

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise UsageError(f"budget {name} {value} leaves no room for anything; give at least 1 character")

    def of_content(self, kind: str) -> int:
        return self.item if kind == _KNOWLEDGE else self.chapter if kind == "chapter" else self.other


@dataclass(frozen=True, slots=True)
class Block:
    """One block of the text. `score` is that of a knowledge entry; `was_cut` says that its content goes on."""

    kind: str
    source_id: str
    title: str
    content: str
    text: str
    was_cut: bool
    knowledge_type: str | None = None
    score: int | None = None

    def as_json(self) -> dict[str, object]:
        """A preview item: what it is, the beginning of its content, and its characters in the prompt."""
        first = " ".join(self.content.split())
        item: dict[str, object] = {
            "kind": self.kind, "id": self.source_id, "title": self.title, "excerpt": cut(first, _EXCERPT),
            "charCount": len(self.text), "wasCut": self.was_cut,
        }  # fmt: skip
        if self.knowledge_type:
            item |= {"knowledgeType": self.knowledge_type, "score": self.score}
        return item


@dataclass(frozen=True, slots=True)
class Dropped:
    """A block that found no room."""

    block: Block
    reason: str

    def as_json(self) -> dict[str, object]:
        return {**self.block.as_json(), "reason": self.reason}


def make_block(
    kind: str, source_id: str, title: str, content: str, language: str, budgets: Budgets,
    knowledge_type: str | None = None, score: int | None = None,
) -> Block:  # fmt: skip
    """The block of a source: its header, and its content as far as the limit of its kind."""
    shown_title = cut(" ".join(" ".join(visible_lines(title)).split()).translate(_BRACKETS), _LONGEST_TITLE)
    whole = "\n".join(visible_lines(content.strip()))
    kept = cut(whole, budgets.of_content(kind))
    label = KIND_LABELS[language][kind]
    label += f"·{TYPE_LABELS[language][knowledge_type]}" if knowledge_type else ""
    lines = [f"> {line}".rstrip() for line in kept.split("\n")] if kept else []
    text = "\n".join((f"【{label}】{shown_title}", *lines))
    return Block(kind, source_id, shown_title, kept, text, kept != whole, knowledge_type, score)


def cut(text: str, limit: int) -> str:
    """The text in at most `limit` characters: whole graphemes, and … at the end where it was longer."""
    if len(text) <= limit:
        return text
    import regex

    end = 0
    for grapheme in regex.finditer(r"\X", text[: limit + 64]):  # so much of the next one decides where this one ends
        if grapheme.end() > limit - len(CUT):
            break
        end = grapheme.end()
    return text[:end].rstrip() + CUT


def fit(blocks: Sequence[Block], language: str, budgets: Budgets) -> tuple[list[Block], list[Dropped]]:
    """(blocks that stay, in the order of the text; blocks that go, the first to go first).

    Knowledge goes by low score, equal scores by id, the last first. Where the whole is too long, knowledge goes so
    before anything else, then inspirations, settings, outlines and chapters, of each the last one first: they are given in story order.
    """
    by_kind = {kind: [block for block in blocks if block.kind == kind] for kind in KINDS}
    by_kind[_KNOWLEDGE].sort(key=lambda block: (-(block.score or 0), block.source_id))
    dropped: list[Dropped] = []
    length = {kind: _length(blocks) for kind, blocks in by_kind.items()}

    def drop(kind: str, reason: str) -> None:
        block = by_kind[kind].pop()
        length[kind] -= len(block.text) + len(SEPARATOR)
        dropped.append(Dropped(block, reason))

    while (long := length[_KNOWLEDGE] - len(SEPARATOR)) > budgets.knowledge:
        drop(
            _KNOWLEDGE, f"knowledge of {long:,} characters is above its {budgets.knowledge:,}; it has the lowest score"
        )
    for kind in (_KNOWLEDGE, *(kind for kind in reversed(KINDS) if kind != _KNOWLEDGE)):
        while by_kind[kind] and (long := len(GUARD[language]) + sum(length.values())) > budgets.whole:
            drop(kind, f"the whole of {long:,} characters is above its {budgets.whole:,}")
    return [block for kind in KINDS for block in by_kind[kind]], dropped


def _length(blocks: Sequence[Block]) -> int:
    """In characters, with the separator before each."""
    return sum(len(block.text) + len(SEPARATOR) for block in blocks)


def render(blocks: Sequence[Block], language: str) -> str:
    """The whole text; empty where there is no block."""
    return SEPARATOR.join((GUARD[language], *(block.text for block in blocks))) if blocks else ""
