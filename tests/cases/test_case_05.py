"""Case 05: a rule at the top is a rule; front matter is a closed block at byte 0 that holds a mapping."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import canonry

CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "05-rule-or-front-matter"
EXPECT = json.loads((CASE / "expect.json").read_text(encoding="utf-8"))
PHRASES = [(name, phrase) for name, phrases in EXPECT["must_be_found"].items() for phrase in phrases]


@pytest.fixture(scope="module")
def logbook(campaigns: Callable[..., canonry.Campaign]) -> canonry.Campaign:
    return campaigns("logbook", "none", [CASE])


@pytest.mark.parametrize(("name", "phrase"), PHRASES, ids=[f"{name}: {phrase}" for name, phrase in PHRASES])
def test_every_line_of_the_body_can_be_found(logbook: canonry.Campaign, name: str, phrase: str) -> None:
    for query in (phrase, f'"{phrase}"'):
        found = logbook.retrieve(query).results
        assert name in [passage.uri for passage in found], query
        shown = [
            " ".join([*p.heading_path, p.exact_text]) for p in found if p.uri == name
        ]  # a line above a rule is a heading
        assert any(phrase in " ".join(text.split()) for text in shown)


@pytest.fixture
def sources(
    tmp_path: Path, run_cli: Callable[..., tuple[int, str, str]]
) -> Callable[[str], tuple[dict[str, object], str]]:
    """What `source show` says of one file of the case, imported alone, and what the import said of it."""

    def show(name: str) -> tuple[dict[str, object], str]:
        data = tmp_path / "data"
        run_cli("campaign", "create", "one", "--data", data, "--set", "embedder=none")
        code, _, err = run_cli("import", "--data", data, CASE / name)
        assert code == 0, err
        return json.loads(run_cli("source", "show", "--data", data, "--json", name)[1]), err

    return show


@pytest.mark.parametrize(("name", "metadata"), EXPECT["metadata"].items(), ids=EXPECT["metadata"])
def test_metadata_is_what_a_real_block_states(
    sources: Callable[[str], tuple[dict[str, object], str]], name: str, metadata: dict[str, object]
) -> None:
    facts, _ = sources(name)
    assert facts["title"] == metadata.get("title", Path(name).stem)
    assert facts["tags"] == metadata.get("tags", [])
    assert facts["extra"] == {}


def test_metadata_without_a_body_is_kept_and_said_to_hold_nothing(
    sources: Callable[[str], tuple[dict[str, object], str]],
) -> None:
    facts, err = sources("only-front-matter.md")
    assert (facts["title"], facts["chunks"]) == ("Nothing Else", 0)
    assert [line for line in err.splitlines() if "only-front-matter.md" in line and "nothing to find" in line]


def test_an_unclosed_block_is_body_with_a_warning(sources: Callable[[str], tuple[dict[str, object], str]]) -> None:
    facts, err = sources("unclosed.md")
    assert facts["title"] == "unclosed"
    assert facts["chunks"] != 0
    assert [line for line in err.splitlines() if "unclosed.md" in line and "not closed" in line]
