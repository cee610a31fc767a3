"""The step that kept or dropped a chunk, and that nobody hears of what he may not see: over generated campaigns too."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.context import QueryContext
from canonry.embedders import register
from canonry.errors import NotFound
from canonry.layout import Layout
from canonry.timestamps import now
from tests.conftest import Workshop
from tests.fakes import WordBag

SAME = "The bell of the tower rings at night.\n"
FILES = {
    "plain.md": "The lamp of the harbour burns blue.\n",
    "canon.md": "---\nclass: canon\ntype: rules\n---\nThe lamp of the harbour burns red.\n",
    "level.md": "---\nspoiler_level: 3\n---\nThe lamp of the harbour is a lie.\n",
    "hidden.md": "---\nvisibility: hidden\n---\nThe lamp of the harbour is Ravel's.\n",
    "roles.md": "---\nallowed_roles: [writer]\n---\nThe lamp of the harbour is a device.\n",
    "tagged.md": "---\nspoiler_tags: [ending]\n---\nThe lamp of the harbour goes out.\n",
    "off.md": "The lamp of the harbour was sold.\n",
    "other.md": "A mountain goat eats moss.\n",
    "copy1.md": SAME,
    "copy2.md": "# Again\n\n" + SAME,
}
QUESTION = "lamp of the harbour"
NARRATOR: dict[str, Any] = {"role": "narrator"}


@dataclass
class Made:
    campaign: Campaign
    workshop: Workshop
    ids: dict[str, str]

    def why(self, name: str, query: str = QUESTION, **asked: Any) -> tuple[str, str, str]:
        verdict = self.campaign.why(self.ids[name], query, **asked)
        return verdict.step, verdict.reason, str(verdict.change)


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, *(workshop.write(name, text) for name, text in FILES.items()), decide="separate")
    return at


@pytest.fixture
def made(workshop: Workshop) -> Made:
    register(WordBag())
    at = workshop.once(build)
    campaign = workshop.ask(at)
    everything = [
        campaign.retrieve(query, role=role, spoiler_level=9, limit=50, copies=True).results
        for query in ("lamp harbour goat bell", "goat", "bell")
        for role in ("narrator", "writer")
    ]
    ids = {passage.uri: passage.chunk_id for found in everything for passage in found}
    assert set(ids) == set(FILES)
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_enabled(catalog.source("off.md").source_id, False)
    catalog.close()
    return Made(campaign, workshop, ids)


TOLD = {
    "kept": ("plain.md", {}, "kept", "place", "None"),
    "beyond the limit": ("plain.md", {"limit": 1}, "limit", "beyond the limit of 1", "--limit"),
    "spoiler level": ("level.md", NARRATOR, "filter", "spoiler level 3", "--spoiler-level 3"),
    "hidden": ("hidden.md", {"as_narrator": True}, "filter", "hidden", "--role narrator"),
    "for other roles": ("roles.md", NARRATOR, "filter", "writer", "--role writer"),
    "forbidden tag": ("tagged.md", NARRATOR | {"forbid_tags": ["ending"]}, "filter", "forbidden tag", "--forbid-tags"),
    "disabled": ("off.md", {}, "filter", "disabled", "canonry source enable"),
    "class": ("plain.md", {"classes": ["canon"]}, "filter", "is reference", "--class reference"),
    "type": ("plain.md", {"source_types": ["rules"]}, "filter", "of type none", "--source-types"),
    "source": ("plain.md", {"sources": ["x"]}, "filter", "of source", "--source"),
    "tag": ("plain.md", {"tags": ["x"]}, "filter", "tags", "--tags"),
    "entity": ("plain.md", {"entities": ["x"]}, "filter", "entities", "--entities"),
    "two filters": ("level.md", NARRATOR | {"classes": ["canon"]}, "filter", "spoiler level 3; is reference", "--class"),
    "no word": ("other.md", {}, "match", "none of the words", "--mode hybrid"),
    "no word and no meaning": ("other.md", {"mode": "hybrid"}, "match", "not close in meaning", "words"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "asked", "step", "reason", "change"), TOLD.values(), ids=TOLD)
def test_the_step_is_named_with_what_would_change_it(
    made: Made, name: str, asked: dict[str, Any], step: str, reason: str, change: str
) -> None:
    found = made.why(name, **asked)
    assert found[0] == step
    assert reason in found[1]
    assert change in found[2]


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_what_is_in_an_answer_is_kept_with_the_reasons_it_has_there(made: Made, mode: str) -> None:
    results = made.campaign.retrieve(QUESTION, mode=mode).results
    assert results
    for place, passage in enumerate(results, 1):
        verdict = made.campaign.why(passage.chunk_id, QUESTION, mode=mode)
        assert (verdict.step, f"place {place}" in verdict.reason) == ("kept", True)
        assert verdict.reasons == passage.reasons


def test_a_copy_names_the_passage_that_stands_for_it(made: Made) -> None:
    answers = {name: made.why(name, "bell tower") for name in ("copy1.md", "copy2.md")}
    assert {step for step, _, _ in answers.values()} == {"kept", "copy"}
    assert all("--copies" in change for step, _, change in answers.values() if step == "copy")
    assert {made.why(name, "bell tower", copies=True)[0] for name in answers} == {"kept"}


def test_below_the_floor_is_told_with_how_much_it_holds(made: Made) -> None:
    step, reason, change = made.why("plain.md", "fireball spell pudding recipe lamp")
    assert step == "floor"
    assert "1 of 5" in reason
    assert "words" in change


def test_a_change_that_is_named_does_change_it(made: Made) -> None:
    assert made.why("level.md", role="narrator", spoiler_level=3, limit=50)[0] == "kept"
    assert made.why("hidden.md", role="narrator", limit=50)[0] == "kept"
    assert made.why("roles.md", role="writer", limit=50)[0] == "kept"


@pytest.mark.parametrize("name", ["level.md", "hidden.md", "roles.md"])
@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_what_a_player_may_not_see_is_told_as_an_unknown_id(made: Made, name: str, mode: str) -> None:
    texts = []
    for chunk_id in (made.ids[name], "c" + "0" * 20):
        with pytest.raises(NotFound) as caught:
            made.campaign.why(chunk_id, QUESTION, mode=mode)
        texts.append(str(caught.value).replace(chunk_id, "ID"))
    assert texts[0] == texts[1]


def test_a_superseded_chunk_is_told_to_the_narrator_alone(made: Made) -> None:
    before = now()
    old = made.ids["plain.md"]
    made.workshop.bring(made.campaign.at, made.workshop.write("plain.md", "The lamp of the harbour is out.\n"))
    verdict = made.campaign.why(old, QUESTION, role="narrator")
    assert verdict.step == "time"
    assert "--as-of" in str(verdict.change)
    assert made.campaign.why(old, QUESTION, as_of=before).step == "kept"
    with pytest.raises(NotFound):
        made.campaign.why(old, QUESTION)


# a property over generated campaigns

LEVELS, TAGS, ROLES = (0, 1, 2), ("", "ending", "ravel"), ("player", "narrator", "writer")
WORDS = ["lamp", "harbour", "tower", "Mara", "red", "hundred", "night", "bell"]


@dataclass(frozen=True)
class Section:
    number: int
    class_: str
    level: int
    tag: str
    hidden: bool
    for_writer: bool
    enabled: bool
    text: str

    def is_open_to(self, role: str, level: int, forbid: tuple[str, ...], classes: tuple[str, ...]) -> bool:
        return (
            self.enabled and self.level <= level and self.tag not in forbid and (role == "narrator" or not self.hidden)
            and (role == "writer" or not self.for_writer) and (not classes or self.class_ in classes)
        )  # fmt: skip


def sections() -> st.SearchStrategy[list[Section]]:
    one = st.builds(
        Section, st.just(0), st.sampled_from(("canon", "reference", "inspiration")), st.sampled_from(LEVELS), st.sampled_from(TAGS),
        st.booleans(), st.booleans(), st.sampled_from((True, True, False)),
        st.lists(st.sampled_from(WORDS), min_size=2, max_size=5).map(" ".join),
    )  # fmt: skip
    return st.lists(one, min_size=3, max_size=8).map(
        lambda drawn: [replace(section, number=number) for number, section in enumerate(drawn)]
    )


QUESTIONS = st.fixed_dictionaries({
    "spoiler_level": st.sampled_from(LEVELS), "role": st.sampled_from(ROLES),
    "forbid_tags": st.sampled_from(((), ("ending",), ("ending", "ravel"))), "classes": st.sampled_from(((), ("canon",), ("canon", "reference"))),
    "limit": st.sampled_from((1, 3, 60)), "rerank": st.booleans(), "copies": st.booleans(),
    "context": st.builds(
        QueryContext, scene=st.sampled_from(("", "night harbour secretnumber0")), location=st.sampled_from(("", "tower")),
        entities=st.sampled_from(((), ("Mara", "Entity1"), ("Entity0", "Entity2"))),
    ),
})  # fmt: skip


def generate(workshop: Workshop, drawn: list[Section]) -> Campaign:
    register(WordBag())
    at = workshop.create(embedder="wordbag")
    for section in drawn:
        roles = "allowed_roles: [writer]\n" if section.for_writer else ""
        tag = f"spoiler_tags: [{section.tag}]\n" if section.tag else ""
        stated = (
            f"---\nclass: {section.class_}\nspoiler_level: {section.level}\nentities: [Entity{section.number}]\n{tag}{roles}"
            f"visibility: {'hidden' if section.hidden else 'normal'}\n---\n"
        )
        text = f"# Title{section.number}\n\nEntity{section.number} {section.text} secretnumber{section.number}.\n"
        workshop.write(f"f{section.number}.md", stated + text)
    workshop.bring(at, workshop.root / "lore", decide="separate")
    catalog = Catalog.open(at.catalog, write=True)
    for section in drawn:
        catalog.set_enabled(catalog.source(f"f{section.number}.md").source_id, section.enabled)
    catalog.close()
    return workshop.ask(at)


def all_ids(campaign: Campaign) -> dict[int, str]:
    """Section number -> chunk id, past every filter."""
    rows = campaign._connection().execute(
        "SELECT c.chunk_id, t.body FROM knowledge_chunk c JOIN chunk_terms t USING (row)"
    )
    return {int(body.split("secretnumb")[1].lstrip("er").split()[0]): chunk_id for chunk_id, body in rows}


@given(sections(), QUESTIONS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_nothing_out_of_sight_appears_in_any_answer(
    drawn: list[Section], asked: dict[str, Any], words: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        campaign = generate(workshop, drawn)
        ids = all_ids(campaign)
        seen_by = {key: asked[key] for key in ("role", "forbid_tags", "classes")}
        may = {
            s.number for s in drawn
            if s.is_open_to(asked["role"], asked["spoiler_level"], asked["forbid_tags"], asked["classes"])
        }  # fmt: skip
        query = f"{' '.join(words)} Entity0 Entity1 lamp"
        for mode in ("lexical", "semantic", "hybrid"):
            answer = campaign.retrieve(query, mode=mode, explain=True, **asked)
            numbers = {int(p.exact_text.rsplit("secretnumber", 1)[1].strip(" .\n")) for p in answer.results}
            assert numbers <= may, (mode, seen_by)
            told = json.dumps([passage.as_json() for passage in answer.results])
            for section in drawn:
                if section.number not in may:
                    for secret in ("secretnumber", "Title", "Entity"):
                        assert f"{secret}{section.number}" not in told
                    assert ids[section.number] not in told
                    check_why(campaign, ids[section.number], query, section, mode, asked)
        workshop.close()


def check_why(
    campaign: Campaign, chunk_id: str, query: str, section: Section, mode: str, asked: dict[str, Any]
) -> None:
    """What is secret is unknown to a role that may not see it; what was filtered otherwise is told, and never as kept."""
    role, level, forbid = asked["role"], asked["spoiler_level"], asked["forbid_tags"]
    secret = section.level > level or section.tag in forbid or (section.for_writer and role != "writer")
    secret = secret or (section.hidden and role != "narrator")
    if secret and role != "narrator":
        with pytest.raises(NotFound) as caught:
            campaign.why(chunk_id, query, mode=mode, **asked)
        with pytest.raises(NotFound) as unknown:
            campaign.why("cnothing", query, mode=mode, **asked)
        assert str(caught.value).replace(chunk_id, "") == str(unknown.value).replace("cnothing", "")
    else:
        assert campaign.why(chunk_id, query, mode=mode, **asked).step == "filter"


# the same in another process


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    workshop = Workshop(tmp_path_factory.mktemp("same"))
    at = workshop.create()
    for number, class_ in itertools.product(range(6), ("canon", "reference", "inspiration")):
        text = f"---\nclass: {class_}\nentities: [Mara, Oda]\ntags: [lamp, sea]\n---\nThe lamp of {class_} stands by gate {number}.\n"
        workshop.write(f"{class_}{number}.md", text)
    workshop.bring(at, workshop.root / "lore")
    yield workshop.data
    workshop.close()


@pytest.mark.parametrize("command", ["query", "why"])
def test_another_process_gives_the_same_bytes(data: Path, command: str) -> None:
    with Campaign(next(iter_layouts(data))) as campaign:
        chunk_id = campaign.retrieve("lamp gate 3").results[-1].chunk_id
    given_ = ["query", "--explain"] if command == "query" else ["why", chunk_id]
    arguments = [
        *given_,
        "lamp gate 3 of Mara",
        "--data",
        str(data),
        "--json",
        "--scene",
        "a gate by the sea",
        "--mention",
        "Oda,Mara",
    ]
    outs = {
        subprocess.run(
            [sys.executable, "-m", "canonry", *arguments], env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2], capture_output=True, check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert len(outs) == 1
    assert json.loads(outs.pop())


def iter_layouts(data: Path) -> Iterator[Any]:
    from canonry.layout import Layout, list_campaigns

    return (Layout(data, name) for name in list_campaigns(data))
