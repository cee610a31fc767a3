from __future__ import annotations

import json
from contextlib import closing

import pytest

from canonry.canonlog.save import Save
from canonry.catalog import Catalog
from canonry.contexts.assembly import Ref, assemble, failures_of
from canonry.contexts.failures import (
    ForbiddenRole,
    InvalidatedItem,
    MissingEvidence,
    SeveralFailures,
    StaleReference,
    UnsatisfiablePin,
)
from canonry.contexts.item import Item
from canonry.contexts.tiers import Budgets
from canonry.layout import Layout
from canonry.locking import writing
from canonry.tokens import count_tokens
from flows.correction import add_correction
from tests.canonry.contexts.conftest import Stock, blocks, id_of
from tests.conftest import Workshop


def test_an_exact_selection_is_put_together_whole_and_framed(stock: Stock, game: Save) -> None:
    inventory = stock("writer", save=game)
    lamp = inventory.find([id_of(inventory, "whale oil")]).popitem()[1]
    made = assemble(inventory, [Ref.of(lamp), Ref("log:location"), Ref("block:plan")])
    assert [block.item.id for block in made.hot] == ["block:style"]
    assert [block.item.id for block in made.working] == ["log:location", lamp.id, "block:plan"]
    assert "> The lamp burns whale oil.\n" in made.text
    assert "[supplied " in made.text
    assert "gatekeeper" not in made.text
    assert made.total_tokens == count_tokens(made.text)


def test_the_same_selection_gives_the_same_text(stock: Stock) -> None:
    inventory = stock()
    refs = [Ref(item.id) for item in inventory.items()]
    assert assemble(inventory, refs, mark="m" * 16).text == assemble(stock(), refs, mark="m" * 16).text


@pytest.mark.parametrize("hidden", ["block:gold", "block:sim", "block:veiled", "CELLARWORD", "ENDWORD"])
def test_what_is_forbidden_and_what_never_was_are_refused_in_the_same_words(stock: Stock, hidden: str) -> None:
    owner = stock("narrator", spoiler_level=9)
    id_ = hidden if hidden.startswith("block:") else id_of(owner, hidden)
    told = []
    for one in (id_, "x" * len(id_)):
        with pytest.raises(MissingEvidence) as refused:
            assemble(stock("writer"), [Ref(one, "f" * 32, "e" * 64)])
        told.append(str(refused.value).replace(one, "?"))
        assert refused.value.ids == (one,)
    assert told[0] == told[1]


@pytest.mark.parametrize("told_all", [False, True])
def test_an_item_of_another_campaign_is_not_there_and_no_more_is_said(
    stock: Stock, foreign: Item, told_all: bool
) -> None:
    inventory = stock("narrator", spoiler_level=9)
    told = set()
    for ref in (Ref("nowhere"), Ref(foreign.id), Ref.of(foreign)):
        for selected, required in (([ref], []), ([], [ref])):
            with pytest.raises(MissingEvidence) as refused:
                assemble(inventory, selected, required, told_all=told_all)
            assert refused.value.ids == (ref.id,)
            told.add(json.dumps(refused.value.as_json()).replace(ref.id, "?"))
    assert len(told) == 1
    assert not [word for word in ("FOREIGNWORD", "uildhall", "othercampaign", foreign.source_id) if word in str(told)]


def test_eyes_that_may_see_everything_are_told_which_is_forbidden(stock: Stock) -> None:
    with pytest.raises(ForbiddenRole, match="answer_key is for judge alone") as refused:
        assemble(stock("writer"), [Ref("block:gold")], told_all=True)
    assert refused.value.ids == ("block:gold",)
    cellar = id_of(stock("narrator"), "CELLARWORD")
    with pytest.raises(ForbiddenRole, match="for writer: visibility: is hidden: for the narrator alone"):
        assemble(stock("writer"), [Ref(cellar)], told_all=True)
    with pytest.raises(MissingEvidence):
        assemble(stock("writer"), [Ref("nowhere")], told_all=True)


def test_an_item_that_changed_is_stale(stock: Stock) -> None:
    before = stock(supplied=blocks({"id": "a", "text": "Rain."})).find(["block:a"])["block:a"]
    after = stock(supplied=blocks({"id": "a", "text": "Snow."}))
    with pytest.raises(StaleReference) as refused:
        assemble(after, [Ref.of(before)])
    assert refused.value.ids == ("block:a",)


def test_a_passage_of_a_source_that_changed_is_stale_and_of_one_that_went_out_of_sight_missing(
    stock: Stock, workshop: Workshop, at: Layout
) -> None:
    inventory = stock(supplied=())
    lamp = Ref.of(inventory.find([id_of(inventory, "whale oil")]).popitem()[1])
    capital = Ref.of(inventory.find([id_of(inventory, "Karth")]).popitem()[1])
    workshop.bring(at, workshop.write("town.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns tallow.\n"))
    workshop.bring(at, workshop.write("capital.md", "---\nclass: canon\nvisibility: hidden\n---\n# Vell\n\nKarth.\n"))
    with pytest.raises(SeveralFailures) as refused:
        assemble(stock(supplied=()), [lamp, capital])
    assert [(type(one), one.ids) for one in refused.value.failures] == [
        (StaleReference, (lamp.id,)),
        (MissingEvidence, (capital.id,)),
    ]


def test_a_passage_whose_class_changed_is_stale(stock: Stock, at: Layout) -> None:
    inventory = stock(supplied=())
    lamp = Ref.of(inventory.find([id_of(inventory, "whale oil")]).popitem()[1])
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        catalog.connection.execute("UPDATE knowledge_source SET class = 'inspiration'")
    with pytest.raises(StaleReference):
        assemble(stock(supplied=()), [lamp])


def test_what_no_longer_holds_is_named_to_whom_it_was_for_and_to_nobody_else(stock: Stock) -> None:
    with pytest.raises(InvalidatedItem, match="derive it anew"):
        assemble(stock("writer"), [Ref("block:old")])
    with pytest.raises(MissingEvidence):
        assemble(stock("blind_reader"), [Ref("block:old")])


def test_what_is_required_must_be_there_and_selected(stock: Stock) -> None:
    inventory = stock("writer")
    with pytest.raises(MissingEvidence, match="required and not selected"):
        assemble(inventory, [], [Ref("block:plan")])
    with pytest.raises(MissingEvidence, match="not there"):
        assemble(inventory, [], [Ref("block:sim")])
    made = assemble(inventory, [Ref("block:plan")], [Ref("block:plan")])
    assert "block:plan" in [block.item.id for block in made.hot]


def test_a_corrected_passage_needs_its_correction_beside_it(stock: Stock, at: Layout) -> None:
    (wrong,) = [one for one in stock().campaign.retrieve("capital").results if "Karth" in one.exact_text]
    with writing(at):
        add_correction(at, "The capital of Vell is Orm.", [wrong], {})
    inventory = stock(supplied=())
    right = id_of(inventory, "Orm")
    with pytest.raises(MissingEvidence, match="must stand beside it") as refused:
        assemble(inventory, [Ref(wrong.chunk_id)])
    assert refused.value.ids == (wrong.chunk_id, right)
    text = assemble(inventory, [Ref(wrong.chunk_id), Ref(right)]).text
    assert text.index("Orm") < text.index("Karth")
    assert "corrects it, that one holds" in text


def test_budgets_leave_out_and_never_cut(stock: Stock) -> None:
    inventory = stock(supplied=())
    refs = [Ref(item.id) for item in inventory.items()]
    whole = assemble(inventory, refs)
    made = assemble(inventory, refs, budgets=Budgets(0, whole.total_tokens - 1))
    assert len(made.left) == 1
    assert made.total_tokens < whole.total_tokens
    assert assemble(inventory, refs, budgets=Budgets(0, 0)).text == ""


def test_a_pin_without_room_is_a_conflict(stock: Stock) -> None:
    with pytest.raises(UnsatisfiablePin, match="the hot budget of 5 is") as refused:
        assemble(stock(), [], budgets=Budgets(5, 5000))
    assert refused.value.ids == ("block:style",)


def test_nothing_wrong_is_no_failure(stock: Stock) -> None:
    inventory = stock()
    assert failures_of(inventory, [Ref.of(item) for item in inventory.items()]) == []
