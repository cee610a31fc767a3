"""The leak tests find what is planted, find nothing where nothing is, and are the same again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.campaign import Campaign
from canonry.config import MODES
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.embedders import register
from canonry.errors import CanonryError, UsageError
from canonry.layout import Layout
from canonry.retrieval import Answer, Passage
from canonry.why import Verdict
from eval.leak_report import leak_markdown, write_leak_report
from eval.leaks import LeakReport, Wanted, find_leaks
from eval.sight import is_marked_secret, sights
from flows.leaks import in_process
from tests.conftest import Workshop
from tests.fakes import WordBag

HARBOUR = """---
class: canon
always_include: true
---
# Harbour

The lamp burns over the harbour wall. Old sailors say that the lamp never goes out in winter.

## The keeper {visibility=hidden}

The lamp is kept by Mara Quillon, who drowned the last three keepers in the well.

## The end {spoiler=2}

The lamp goes out when the seventh bell of Orrin is stolen by the harbour master.
"""
WELL = "# Well\n\nThe well stands behind the wall. Children whisper of Mara Quillon and run away at night.\n"
VAULT = (
    "---\ntitle: Vault of Orrin\nvisibility: hidden\nentities: [Mara Quillon, Brass Widow]\n---\n"
    "# Vault\n\nUnder the well lies a vault with three keys, and the Brass Widow holds all of them.\n"
)
LETTER = (
    "---\nallowed_roles: [writer]\n---\n# Letter\n\nThe author means to let the harbour master confess in spring.\n"
)
ALL = Wanted(max_chunks=None)


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    for name, text in (("harbour", HARBOUR), ("well", WELL), ("vault", VAULT), ("letter", LETTER)):
        workshop.bring(at, workshop.write(f"{name}.md", text))
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    register(WordBag())
    return workshop.once(build)


def secret_of(campaign: Campaign, role: str, words: str) -> Passage:
    (found,) = [one for one in campaign.survey(Scope(role, HIGHEST_LEVEL), list) if words in one.exact_text]
    return found


class Generous(Campaign):
    """Gives one passage more than it may, to a question that names the lamp."""

    extra: Passage

    def retrieve(self, query: str, **asked: object) -> Answer:  # type: ignore[override]
        answer = super().retrieve(query, **asked)  # type: ignore[arg-type]
        return replace(answer, results=[*answer.results, self.extra]) if "lamp" in query else answer


class Quoting(Campaign):
    """Shows a passage that it may, with a sentence in it that it may not."""

    extra: str

    def retrieve(self, query: str, **asked: object) -> Answer:  # type: ignore[override]
        answer = super().retrieve(query, **asked)  # type: ignore[arg-type]
        told = [replace(one, exact_text=f"{one.exact_text}\n{self.extra}") for one in answer.results]
        return replace(answer, results=told)


class Noticing(Campaign):
    """Says in a notice what it knows."""

    extra: str

    def retrieve(self, query: str, **asked: object) -> Answer:  # type: ignore[override]
        return replace(super().retrieve(query, **asked), notices=[self.extra])  # type: ignore[arg-type]


class Confiding(Campaign):
    """Tells everyone of `why` what a narrator hears."""

    def why(self, chunk_id: str, query: str, *, as_narrator: bool = False, **asked: object) -> Verdict:  # type: ignore[override]
        return super().why(chunk_id, query, as_narrator=True, **asked)  # type: ignore[arg-type]


class Recording(Campaign):
    """Keeps what it was asked."""

    asked: list[str]

    def retrieve(self, query: str, **asked: object) -> Answer:  # type: ignore[override]
        self.asked.append(query)
        return super().retrieve(query, **asked)  # type: ignore[arg-type]


class Standing(Campaign):
    """Lets a pack pin what it may not hold."""

    def standing(self, scope: Scope, chunk_ids: object = ()) -> tuple[list[Passage], dict[str, Passage]]:
        return super().standing(replace(scope, role=NARRATOR, spoiler_level=HIGHEST_LEVEL), chunk_ids)  # type: ignore[arg-type]


@pytest.fixture
def opened(at: Layout) -> Iterator[Callable[[type[Campaign]], Campaign]]:
    campaigns: list[Campaign] = []

    def opened(kind: type[Campaign]) -> Campaign:
        campaigns.append(kind(at))
        return campaigns[-1]

    yield opened
    for campaign in campaigns:
        campaign.close()


def places(found: LeakReport) -> set[tuple[str, str]]:
    return {(leak.where, leak.secret.what) for leak in found.leaks}


def test_a_campaign_that_keeps_its_secrets_has_no_leak_in_any_mode(at: Layout) -> None:
    found = in_process(at, ALL)
    assert found.leaks == ()
    assert found.degraded == dict.fromkeys(MODES, 0)
    assert not found.is_degraded
    assert found.askers == {
        "player at level 0": {"allowed": 2, "forbidden": 4, "asked for": 4},
        "narrator at level 0": {"allowed": 4, "forbidden": 2, "asked for": 2},
        "player at level 2": {"allowed": 3, "forbidden": 3, "asked for": 3},
        "narrator at level 2": {"allowed": 5, "forbidden": 1, "asked for": 1},
    }
    assert found.counts["secret passages"] == found.counts["secret passages asked for"] == 4
    assert found.counts["packs"] == found.counts["questions"] == sum(found.probes.values())
    assert found.counts["passages shown"] > found.counts["questions"] / 2
    assert found.counts["different passages shown"] == 5
    assert (found.counts["why"], found.counts["pin"]) == (7 * len(MODES), 10 * len(MODES))


def test_every_kind_of_question_is_asked(at: Layout) -> None:
    kinds = {"title", "heading", "entity", "name", "rare words", "question", "sentence", "shuffled", "half"}
    assert kinds <= set(in_process(at, replace(ALL, modes=("lexical",))).probes)


def test_a_forbidden_passage_in_the_results_is_found(opened: Callable[[type[Campaign]], Campaign]) -> None:
    campaign = opened(Generous)
    assert isinstance(campaign, Generous)
    campaign.extra = secret_of(campaign, NARRATOR, "drowned")
    found = find_leaks(campaign, replace(ALL, modes=("lexical",)))
    assert {("results", "passage"), ("results", "id"), ("pack", "passage"), ("pack", "text")} <= places(found)
    assert {leak.asker for leak in found.leaks} == {"player at level 0", "player at level 2"}
    assert {leak.secret.chunk_id for leak in found.leaks} == {campaign.extra.chunk_id}


def test_a_forbidden_sentence_is_found_in_other_typography(opened: Callable[[type[Campaign]], Campaign]) -> None:
    campaign = opened(Quoting)
    assert isinstance(campaign, Quoting)
    campaign.extra = "UNDER the well — lies a vault “with three keys”, and\nthe Brass Widow holds all of them"
    found = find_leaks(campaign, replace(ALL, modes=("hybrid",)))
    assert places(found) == {("results", "text"), ("pack", "text")}
    assert {leak.secret.source_id.partition("-")[0] for leak in found.leaks} == {"vault"}


def test_a_notice_that_names_a_secret_is_found(opened: Callable[[type[Campaign]], Campaign]) -> None:
    campaign = opened(Noticing)
    assert isinstance(campaign, Noticing)
    campaign.extra = f"see {secret_of(campaign, 'writer', 'confess').chunk_id}"
    assert places(find_leaks(campaign, replace(ALL, modes=("lexical",)))) == {("results", "id"), ("pack", "id")}


def test_an_answer_that_tells_a_secret_id_from_an_unknown_one_is_a_leak(
    opened: Callable[[type[Campaign]], Campaign],
) -> None:
    assert places(find_leaks(opened(Confiding), replace(ALL, modes=("lexical",)))) == {("why", "existence")}


def test_a_pack_that_holds_what_is_pinned_or_always_included_in_secret_is_a_leak(
    opened: Callable[[type[Campaign]], Campaign],
) -> None:
    found = find_leaks(opened(Standing), replace(ALL, modes=("lexical",)))
    assert {("pin", "text"), ("pack", "passage"), ("pack", "text")} <= places(found)


def test_a_sentence_that_is_said_openly_too_is_no_secret(workshop: Workshop) -> None:
    at = workshop.create()
    said = "The lamp burns over the harbour wall in every winter night."
    workshop.bring(at, workshop.write("open.md", f"# Open\n\n{said}\n"))
    workshop.bring(at, workshop.write("kept.md", f"---\nvisibility: hidden\n---\n# Kept\n\n{said} So it is.\n"))
    found = in_process(at, replace(ALL, modes=("lexical",)))
    assert (found.leaks, found.counts["secret passages asked for"]) == ((), 1)


def test_secret_names_in_sight_are_told_with_their_places(at: Layout) -> None:
    names = {one.name: one for one in in_process(at, replace(ALL, modes=("lexical",))).names}
    assert set(names) == {"Mara Quillon"}
    assert names["Mara Quillon"].kind == "entity"
    assert names["Mara Quillon"].asker == "player at level 0"
    assert [place.partition("-")[0] for place in names["Mara Quillon"].places] == ["well"]


def test_the_same_seed_asks_the_same_and_another_seed_something_else(
    opened: Callable[[type[Campaign]], Campaign],
) -> None:
    def asked(seed: int) -> tuple[list[str], dict[str, object]]:
        campaign = opened(Recording)
        assert isinstance(campaign, Recording)
        campaign.asked = []
        found = find_leaks(campaign, Wanted(modes=("lexical",), max_chunks=2, seed=seed))
        return campaign.asked, {**found.as_json(), "created_at": ""}

    first, again, other = asked(1), asked(1), asked(2)
    assert first == again
    assert first[0] != other[0]
    assert first[1]["counts"]["secret passages asked for"] == 2  # type: ignore[index]


def test_a_sample_reaches_every_asker(at: Layout) -> None:
    found = in_process(at, replace(ALL, modes=("lexical",), max_chunks=4))
    assert all(row["asked for"] for row in found.askers.values())


def test_marks_are_read_apart_from_the_predicate(at: Layout) -> None:
    with Campaign(at) as campaign:
        hidden = secret_of(campaign, NARRATOR, "drowned")
        late = secret_of(campaign, NARRATOR, "seventh bell")
    player, narrator = Scope("player", 2), Scope(NARRATOR, 1)
    assert [is_marked_secret(one, player, set()) for one in (hidden, late)] == [True, False]
    assert [is_marked_secret(one, narrator, set()) for one in (hidden, late)] == [False, True]
    assert is_marked_secret(late, player, {"writer"})
    assert not is_marked_secret(late, Scope("Writer".lower(), 2), {"writer"})


def test_a_campaign_that_changes_meanwhile_gives_no_verdict(
    opened: Callable[[type[Campaign]], Campaign], workshop: Workshop
) -> None:
    campaign = opened(Confiding)

    def progress(step: str, done: int, total: int) -> None:
        if step == "names" and done == 1:
            workshop.bring(campaign.at, workshop.write("new.md", "# New\n\nA new page.\n"))

    with pytest.raises(CanonryError, match="was changed while it was tested"):
        find_leaks(campaign, replace(ALL, modes=("lexical",)), progress)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Wanted(modes=("telepathy",)), "mode 'telepathy' is unknown"),
        (lambda: Wanted(modes=()), "is unknown; choose from"),
        (lambda: Wanted(max_chunks=0), "tests nothing"),
    ],
)
def test_what_cannot_be_tried_is_refused(made: Callable[[], Wanted], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made()


@pytest.mark.parametrize(("levels", "roles"), [((), ("player",)), ((0,), ())])
def test_nobody_cannot_be_asked_as(at: Layout, levels: tuple[int, ...], roles: tuple[str, ...]) -> None:
    with Campaign(at) as campaign, pytest.raises(UsageError, match="nobody to ask as"):
        sights(campaign, levels, roles)


def test_the_report_quotes_leaks_and_names_safely(opened: Callable[[type[Campaign]], Campaign], tmp_path: Path) -> None:
    campaign = opened(Quoting)
    assert isinstance(campaign, Quoting)
    campaign.extra = "Under the well lies a vault with three keys, and the Brass Widow holds all of them"
    found = find_leaks(campaign, replace(ALL, modes=("lexical",)))
    odd = replace(found.leaks[0], query="a | b <script>\nc")
    text = leak_markdown(replace(found, leaks=(odd,)))
    assert r"| a \| b &lt;script> c |" in text
    assert "| Mara Quillon | entity |" in text
    write_leak_report(tmp_path / "report", found)
    stored = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert len(stored["leaks"]) == found.counts["leaks"] > 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds no report"):
        in_process(
            campaign.at, ALL, tmp_path / "mine", lambda step, done, total: pytest.fail("asked before it was refused")
        )
