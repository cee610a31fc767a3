"""Names as words in any script, and what a context adds to an answer."""

from __future__ import annotations

import pytest

from canonry.campaign import Campaign
from canonry.context import NO_CONTEXT, KnownNames, Name, QueryContext, padded
from canonry.embedders import register
from canonry.layout import Layout
from canonry.text import index_terms
from tests.conftest import Workshop, built_once
from tests.fakes import WordBag

NAMED = {
    "a word": ("Mara", "Then Mara left.", True),
    "part of a word": ("Red", "A hundred men.", False),
    "other letters": ("MARA", "then mara left", True),
    "accents": ("Zoë", "zoe left", True),
    "possessive": ("Mara", "Mara’s lamp", True),
    "two words": ("Brass Tower", "the brass tower fell", True),
    "two words apart": ("Brass Tower", "the brass of the tower", False),
    "Latin in Chinese": ("Mara", "然后Mara离开了", True),
    "Chinese in Chinese": ("玛拉", "然后玛拉离开了", True),
    "Chinese of three characters": ("听潮阁", "他走进听潮阁里", True),
    "Chinese, other characters between": ("听潮阁", "听潮的阁", False),
    "one Chinese character": ("龙", "巨龙来了", True),
    "Cyrillic": ("Мара", "Потом Мара ушла", True),
    "Cyrillic, part of a word": ("Мара", "Самаранта", False),
    "no letters": ("!!!", "!!! Mara", False),
}


@pytest.mark.parametrize(("name", "text", "found"), NAMED.values(), ids=NAMED)
def test_a_name_is_found_as_words(name: str, text: str, found: bool) -> None:
    assert Name.of(name).is_in(padded(index_terms(text))) is found
    assert [known.label for known in KnownNames([name, "Nobody"]).named_in(text)] == [name] * found


def test_a_name_never_spans_two_columns() -> None:
    assert not Name.of("Brass Tower").is_in(padded("brass", "tower", ""))


def reasons(campaign: Campaign, query: str, context: QueryContext = NO_CONTEXT) -> dict[str, str]:
    found = campaign.retrieve(query, context=context).results
    return {passage.uri: "; ".join(passage.reasons) for passage in found}


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    files = {
        "mara.md": "---\nentities: [Mara]\n---\nThe keeper holds the key of the tower.\n",
        "plain.md": "The keeper holds the key of the tower, they say.\n",
        "quay.md": "The keeper holds the key at the harbour, by a brass lamp.\n",
        "song.md": "Mara sings of the moon.\n",
    }
    workshop.bring(at, *(workshop.write(name, text) for name, text in files.items()))
    return at


@pytest.fixture
def harbour(workshop: Workshop, at: Layout) -> Campaign:
    return workshop.ask(at)


CONTEXTS = {
    "mention of a source's entity": (QueryContext(entities=("Mara",)), "mara.md", "is about Mara, who was mentioned"),
    "mention that brings in": (QueryContext(entities=("mara",)), "song.md", "names mara, who was mentioned"),
    "scene": (QueryContext(scene="At the harbour a lamp burns."), "quay.md", "shares harbour, lamp with the scene"),
    "location": (QueryContext(location="the harbour"), "quay.md", "shares harbour with the location"),
    "thread": (QueryContext(thread="lamp of brass"), "quay.md", "shares lamp, brass with the thread"),
    "genre": (QueryContext(genre="harbour noir"), "quay.md", "shares harbour with the genre"),
    "keywords": (QueryContext(state_keywords=("brass",)), "quay.md", "shares brass with the state keywords"),
}


@pytest.mark.parametrize(("context", "uri", "reason"), CONTEXTS.values(), ids=CONTEXTS)
def test_each_part_of_a_context_shows_among_the_reasons(
    harbour: Campaign, context: QueryContext, uri: str, reason: str
) -> None:
    plain, lifted = reasons(harbour, "keeper key"), reasons(harbour, "keeper key", context=context)
    assert reason in lifted[uri]
    assert reason not in plain.get(uri, "")


def test_context_brings_in_nothing_but_what_names_a_mentioned_entity(harbour: Campaign) -> None:
    assert set(reasons(harbour, "moon", context=QueryContext(scene="keeper key tower harbour"))) == {"song.md"}
    assert set(reasons(harbour, "moon", context=QueryContext(entities=("Keeper",)))) == {
        "song.md", "mara.md", "plain.md", "quay.md",
    }  # fmt: skip


def test_a_question_of_no_words_with_a_mention_finds_what_names_it(harbour: Campaign) -> None:
    assert set(reasons(harbour, "?", context=QueryContext(entities=("Mara",)))) == {"song.md", "mara.md"}


def test_a_context_lifts_a_near_equal(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(
        at, *(workshop.write(f"{n}.md", f"The keeper of the {n} gate.\n") for n in ("north", "south", "west"))
    )
    campaign = workshop.ask(at)
    for name in ("north", "south", "west"):
        first = campaign.retrieve("keeper gate", context=QueryContext(scene=f"A road {name} of here")).results[0]
        assert first.uri == f"{name}.md"


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_the_entity_of_a_hidden_source_is_not_revealed(workshop: Workshop, mode: str) -> None:
    register(WordBag())
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("open.md", "The keeper of the tower key.\n"))
    workshop.bring(
        at, workshop.write("dark.md", "---\nentities: [Ravel]\nvisibility: hidden\n---\nRavel keeps the tower key.\n")
    )
    asked = {"mode": mode, "explain": True}
    named = workshop.ask(at).retrieve("tower key of Ravel keeper", **asked)  # type: ignore[arg-type]
    mention = workshop.ask(at).retrieve("tower key keeper", context=QueryContext(entities=("Ravel",)), **asked)  # type: ignore[arg-type]
    for answer in (named, mention):
        assert [passage.uri for passage in answer.results] == ["open.md"]
        assert "Ravel" not in str([passage.reasons for passage in answer.results])
        assert answer.results[0].explain is not None
        boosts = answer.results[0].explain["boosts"]
        assert isinstance(boosts, dict)
        assert boosts["entity"] == 0
