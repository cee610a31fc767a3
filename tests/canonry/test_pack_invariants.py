"""Whatever the campaign, a player's pack holds what a player may see, within the budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import canonry
from canonry.catalog import Catalog
from canonry.eligibility import Scope
from canonry.errors import NotFound, PinDoesNotFit
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import Limits, build_pack
from canonry.tokens import count_tokens
from flows.import_files import Choices, import_files
from stages.select import select_files
from tests.canonry.packs import lore, words

SECRET = "XYZZY"
MARKS = st.sampled_from(
    ["", "visibility: hidden", "spoiler_level: 2", "allowed_roles: [writer]", "spoiler_tags: [ending]", "disabled"]
)
SOURCES = st.lists(
    st.tuples(st.sampled_from(["canon", "reference", "inspiration"]), MARKS, st.booleans(), st.integers(1, 60)),
    min_size=1, max_size=6,
)  # fmt: skip


@contextmanager
def made(folder: Path, sources: list[tuple[str, str, bool, int]]) -> Iterator[canonry.Campaign]:
    """A campaign of such sources; what a player may not see has the secret word in text, heading and title."""
    at = Layout(folder / "data", "vell")
    catalog = Catalog.create(at.catalog, "vell")
    catalog.set_settings({"embedder": "none"})
    (folder / "lore").mkdir()
    disabled = []
    for number, (class_, mark, always, length) in enumerate(sources):
        word = f"{SECRET}{number}" if mark else f"open{number}"
        body = f"# Lamp {word}\n\nThe lamp {word}. {words(length, f'w{number}x')}"
        stated = [f"title: {word}", f"always_include: {str(always).lower()}", *([mark] if ":" in mark else [])]
        (folder / "lore" / f"{word}.md").write_text(lore(class_, body, *stated))
        if mark == "disabled":
            disabled.append(f"{word}.md")
    with writing(at):
        import_files(at, select_files([folder / "lore"]), Choices({}, None, lambda name, twin: "separate"))
    for name in disabled:
        catalog.set_enabled(catalog.source(name).source_id, False)
    catalog.close()
    with canonry.open(folder / "data").campaign("vell") as campaign:
        yield campaign


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SOURCES, st.integers(0, 900), st.none() | st.integers(0, 300), st.booleans(), st.data())
def test_whatever_the_campaign_a_player_gets_what_a_player_may_see_within_the_budget(
    tmp_path_factory: pytest.TempPathFactory, sources: list[tuple[str, str, bool, int]], budget: int,
    canon_budget: int | None, with_pin: bool, data: st.DataObject,
) -> None:  # fmt: skip
    scope = Scope(forbid_tags=("ending",))
    with made(tmp_path_factory.mktemp("pack"), sources) as campaign:
        everything = [p.chunk_id for p in campaign.retrieve("lamp", role="narrator", spoiler_level=9, limit=50).results]
        pins = [data.draw(st.sampled_from(everything))] if with_pin and everything else []
        try:
            pack = build_pack(campaign, "lamp", scope=scope, limits=Limits(budget, canon=canon_budget), pins=pins)
        except (NotFound, PinDoesNotFit) as error:
            assert SECRET not in str(error)
            return
        assert SECRET not in json.dumps(pack.as_json())
        assert pack.total_tokens == count_tokens(pack.text) <= budget
        assert canon_budget is None or sum(i.tokens for i in pack.items if i.passage.class_ == "canon") <= canon_budget
        for item in pack.items:
            stored = campaign.at.file(item.passage.content_hash, "md").read_bytes()
            assert item.passage.exact_text.encode() == stored[item.passage.start_byte : item.passage.end_byte]
            assert f"> From: {item.name}" in pack.text
