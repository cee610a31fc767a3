"""A locked source changes by accepted proposals alone; stricter secrecy holds at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from canonry import passing_files, proposals
from canonry.catalog import Catalog
from canonry.errors import CanonryError, DamagedData, NotFound
from canonry.layout import Layout
from canonry.locking import writing
from canonry.proposals import Proposal
from canonry.records import Source
from flows.acceptance import accept, reject
from flows.plan import make_plan
from flows.restating import Restated, edit_source
from tests.conftest import Workshop, set_lock

LAMP = "# Lamp\n\nA brass lamp.\n\n# Ending\n\nThe lamp goes out.\n"
ZINC = LAMP.replace("brass", "zinc")


def build(workshop: Workshop) -> Layout:
    at = workshop.create()
    set_lock(at, workshop.bring(at, workshop.write("lamp.md", LAMP)).imported[0].source_id)
    return at


class Locked:
    """A campaign of one locked source, lamp.md."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.at = workshop.once(build)
        self.path = workshop.root / "lore" / "lamp.md"
        with closing(Catalog.open(self.at.catalog)) as catalog:
            self.source_id = catalog.source("lamp.md").source_id

    def write(self, text: str, **options: object) -> tuple[str, int | None]:
        """Import another text of the file: what became of it, and the proposal that waits."""
        (file,) = self.workshop.bring(self.at, self.workshop.write("lamp.md", text), **options).imported
        return file.outcome, file.proposal

    def edit(self, **changes: object) -> Restated:
        with writing(self.at), closing(Catalog.open(self.at.catalog, write=True)) as catalog:
            return edit_source(catalog, catalog.source(self.source_id), changes)

    def accept(self, proposal_id: int, note: str = "") -> Proposal:
        with writing(self.at):
            return accept(self.at, proposal_id, note)[0]

    def reject(self, proposal_id: int, note: str = "") -> Proposal:
        with writing(self.at):
            return reject(self.at, proposal_id, note)

    @property
    def source(self) -> Source:
        with closing(Catalog.open(self.at.catalog)) as catalog:
            return catalog.source(self.source_id)

    @property
    def waiting(self) -> list[int]:
        with closing(Catalog.open(self.at.catalog)) as catalog:
            return [proposal.proposal_id for proposal in proposals.find_all(catalog.connection)]

    @property
    def kept(self) -> list[Path]:
        return list(self.at.proposed.iterdir()) if self.at.proposed.exists() else []

    def sees(self, words: str, **asked: object) -> bool:
        return bool(self.workshop.ask(self.at).retrieve(words, **asked).results)  # type: ignore[arg-type]


@pytest.fixture
def locked(workshop: Workshop) -> Locked:
    return Locked(workshop)


# texts


def test_a_new_text_waits_and_changes_nothing(locked: Locked) -> None:
    before = locked.source
    assert locked.write(ZINC) == ("proposed", 1)
    assert locked.source == before
    assert (locked.sees("brass"), locked.sees("zinc")) == (True, False)
    assert make_plan(locked.at).is_empty


def test_accepted_it_is_the_version_that_an_import_would_have_made(locked: Locked, workshop: Workshop) -> None:
    locked.write(ZINC)
    decided = locked.accept(1, "as agreed")
    assert (decided.state, decided.note, decided.decided_at is not None) == ("accepted", "as agreed", True)
    assert (locked.sees("brass"), locked.sees("zinc")) == (False, True)
    assert locked.source.version_id == f"{locked.source_id}@2"
    assert (locked.waiting, locked.kept) == ([], [])
    assert make_plan(locked.at).is_empty
    free = workshop.create("free")
    for text in (LAMP, ZINC):
        workshop.bring(free, workshop.write("lamp.md", text))
    with closing(Catalog.open(free.catalog)) as catalog, closing(Catalog.open(locked.at.catalog)) as other:
        columns = "version_id, content_hash, original_hash, file_size, encoding, text_title, normal_hash, heading_rules"
        rows = f"SELECT {columns} FROM knowledge_source_version ORDER BY number"
        assert other.connection.execute(rows).fetchall() == catalog.connection.execute(rows).fetchall()
    assert locked.write(ZINC) == ("unchanged", None)


def test_rejected_it_is_forgotten_and_not_proposed_again(locked: Locked) -> None:
    locked.write(ZINC)
    assert locked.reject(1, "no zinc").note == "no zinc"
    assert (locked.sees("brass"), locked.waiting, locked.kept) == (True, [], [])
    assert locked.write(ZINC) == ("declined", None)
    assert (locked.waiting, locked.kept) == ([], [])
    assert locked.write(ZINC.replace("zinc", "iron")) == ("proposed", 2)


def test_the_same_text_again_is_the_same_proposal(locked: Locked) -> None:
    assert [locked.write(ZINC), locked.write(ZINC)] == [("proposed", 1)] * 2
    assert locked.write(ZINC + "\nMore.\n") == ("proposed", 2)


def test_a_text_for_a_version_that_is_not_live_any_more_is_refused_and_goes_on_waiting(locked: Locked) -> None:
    locked.write(ZINC)
    locked.write(ZINC + "\nMore.\n")
    locked.accept(1)
    with pytest.raises(CanonryError, match=r"@2 is live.*reject it"):
        locked.accept(2)
    assert locked.waiting == [2]
    assert locked.reject(2).state == "rejected"


def test_a_text_can_be_accepted_after_its_source_was_unlocked(locked: Locked) -> None:
    locked.write(ZINC)
    set_lock(locked.at, locked.source_id, False)
    locked.accept(1)
    assert locked.sees("zinc")


@pytest.mark.parametrize("state", ["accepted", "rejected"])
def test_what_was_decided_is_not_decided_again(locked: Locked, state: str) -> None:
    locked.write(ZINC)
    (locked.accept if state == "accepted" else locked.reject)(1)
    for decide in (locked.accept, locked.reject):
        with pytest.raises(CanonryError, match=f"proposal 1 was {state}"):
            decide(1)


def test_an_unknown_proposal_is_not_found(locked: Locked) -> None:
    for decide in (locked.accept, locked.reject):
        with pytest.raises(NotFound, match="proposals list"):
            decide(7)


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_proposed_text_that_is_damaged_is_not_accepted(locked: Locked, damage: str) -> None:
    locked.write(ZINC)
    (kept,) = locked.kept
    kept.unlink() if damage == "missing" else kept.write_text("Another.\n")
    with pytest.raises(DamagedData):
        locked.accept(1)
    assert (locked.sees("brass"), locked.waiting) == (True, [1])
    assert locked.reject(1).state == "rejected"


def test_a_text_that_no_proposal_holds_is_swept_by_the_next_run(locked: Locked, workshop: Workshop) -> None:
    locked.write(ZINC)
    stray = locked.at.proposed_file("f" * 64, "md")
    stray.write_text("left by a run that was stopped")
    with closing(Catalog.open(locked.at.catalog, write=True)) as catalog:
        passing_files.announce_now(catalog.connection, [stray.stem])
    assert not make_plan(locked.at).is_empty
    locked.write(LAMP)
    assert [path != stray for path in locked.kept] == [True]


# secrecy is never delayed


def test_a_text_that_hides_all_of_itself_hides_the_live_one_at_once(locked: Locked) -> None:
    assert locked.write(f"---\nvisibility: hidden\nspoiler_level: 2\n---\n{ZINC}") == ("proposed", 1)
    assert not locked.sees("brass", spoiler_level=2)
    assert locked.sees("brass", spoiler_level=2, role="narrator")
    assert not locked.sees("zinc", spoiler_level=2, role="narrator")


@pytest.mark.parametrize(
    "mark", ["# Ending {spoiler=5}\n", "# Ending\n<!-- canonry: spoiler=5 -->\n"], ids=["in braces", "in a comment"]
)
def test_a_section_that_a_text_marks_is_hidden_in_the_live_one_at_once(locked: Locked, mark: str) -> None:
    assert locked.write(ZINC.replace("# Ending\n", mark)) == ("proposed", 1)
    assert not locked.sees("goes out")
    assert locked.sees("goes out", spoiler_level=5)
    assert locked.sees("brass")
    locked.accept(1)
    assert not locked.sees("goes out")
    assert locked.sees("zinc")


def test_rules_of_the_folder_hide_a_locked_source_at_once(locked: Locked, workshop: Workshop) -> None:
    workshop.write("canonry.toml", '[defaults]\nspoiler_level = 2\n[[headings]]\nmatch = "Ending"\nspoiler = 5\n')
    assert locked.write(LAMP) == ("unchanged", None)
    assert (locked.sees("brass"), locked.sees("brass", spoiler_level=2)) == (False, True)
    assert not locked.sees("goes out", spoiler_level=2)


def test_rules_that_open_a_locked_source_wait(locked: Locked, workshop: Workshop) -> None:
    rules = workshop.write(
        "canonry.toml", '[defaults]\nspoiler_level = 2\n[[headings]]\nmatch = "Ending"\nspoiler = 5\n'
    )
    locked.write(LAMP)
    rules.unlink()
    assert locked.write(LAMP) == ("unchanged", 1)
    assert not locked.sees("brass")
    locked.accept(1)
    assert (locked.sees("brass"), locked.sees("goes out")) == (True, True)
    assert make_plan(locked.at).is_empty


def test_what_was_hidden_while_a_text_waited_stays_hidden_when_it_is_accepted(locked: Locked) -> None:
    locked.write(ZINC)
    assert locked.edit(visibility="hidden").proposal is None
    locked.accept(1)
    assert not locked.sees("zinc")
    assert locked.sees("zinc", role="narrator")


def test_a_copy_that_is_reused_hides_the_locked_source_and_opens_nothing(locked: Locked, workshop: Workshop) -> None:
    copy = workshop.write("copy.md", LAMP)
    (file,) = workshop.bring(locked.at, copy, decide="reuse", visibility="hidden", class_="canon").imported
    assert (file.outcome, file.proposal, locked.source.facts.class_) == ("reused", 1, "reference")
    assert not locked.sees("brass")


# facts


def test_an_edit_waits_and_is_carried_out_when_it_is_accepted(locked: Locked) -> None:
    assert locked.edit(class_="canon", tags=("light",)).waiting == 1
    assert (locked.source.facts.class_, locked.source.facts.tags) == ("reference", ())
    locked.accept(1)
    assert (locked.source.facts.class_, locked.source.facts.tags) == ("canon", ("light",))
    set_lock(locked.at, locked.source_id, False)
    locked.write("---\nclass: inspiration\n---\n" + ZINC)
    assert locked.source.facts.class_ == "canon"  # as after any edit


def test_an_edit_hides_at_once_and_the_rest_of_it_waits(locked: Locked) -> None:
    restated = locked.edit(visibility="hidden", class_="canon")
    assert (restated.facts.visibility, restated.facts.class_, restated.waiting) == ("hidden", "reference", 1)
    assert not locked.sees("brass")


def test_an_edit_that_opens_a_locked_source_waits(locked: Locked) -> None:
    locked.edit(spoiler_level=3, spoiler_tags=("end",))
    assert locked.edit(spoiler_level=0, spoiler_tags=()).waiting == 1
    assert not locked.sees("brass")
    locked.accept(1)
    assert locked.sees("brass", forbid_tags=("end",))


def test_an_edit_by_hand_may_be_asked_anew_after_it_was_rejected(locked: Locked) -> None:
    locked.edit(class_="canon")
    locked.reject(1)
    assert locked.edit(class_="canon").waiting == 2
    assert locked.edit(class_="canon").waiting == 2


def test_an_edit_of_something_that_has_changed_since_is_refused(locked: Locked) -> None:
    locked.edit(spoiler_level=2)
    locked.edit(spoiler_level=0)
    locked.edit(spoiler_level=4)
    with pytest.raises(CanonryError, match="spoiler level is 4 now, and was 2"):
        locked.accept(1)
    assert not locked.sees("brass", spoiler_level=3)


def test_edits_of_different_things_are_accepted_in_any_order(locked: Locked) -> None:
    locked.edit(class_="canon")
    locked.edit(title="The lamp")
    locked.accept(2)
    locked.accept(1)
    assert (locked.source.facts.class_, locked.source.facts.title) == ("canon", "The lamp")


def test_a_locked_source_that_was_moved_is_followed_and_its_title_waits(locked: Locked, workshop: Workshop) -> None:
    moved = locked.path.rename(workshop.root / "lore" / "lantern.md")
    (file,) = workshop.bring(locked.at, moved).imported
    assert (file.outcome, file.proposal) == ("renamed", 1)
    assert (locked.source.original_path, locked.source.facts.title) == (str(moved), "lamp")


# an unlocked source


def test_an_unlocked_source_is_edited_at_once(locked: Locked) -> None:
    set_lock(locked.at, locked.source_id, False)
    assert locked.edit(class_="canon").proposal is None
    assert locked.source.facts.class_ == "canon"
