"""The room in a pack: what always holds first, then pins, then each class its share."""

from __future__ import annotations

import pytest

import canonry
from canonry.eligibility import Scope
from canonry.errors import NotFound, PinDoesNotFit, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import Limits, Pack, build_pack, warn_of_always
from canonry.timestamps import now
from canonry.tokens import count_tokens
from tests.canonry.packs import chunk_of, lore, reasons, uris, words
from tests.conftest import Workshop, built_once

# what always holds


def test_what_always_holds_begins_every_pack_with_the_same_bytes(workshop: Workshop, tolleth: canonry.Campaign) -> None:
    packs = [build_pack(tolleth, query) for query in ("lamp", "sea", "zeppelin")]
    prefix = packs[-1].text
    assert "No one returns" in prefix
    assert all(pack.text.startswith(prefix) for pack in packs)
    with workshop.ask(tolleth.at) as again:
        assert build_pack(again, "fog").text.startswith(prefix)


def test_the_rest_has_a_mark_of_its_own_each_time_and_the_same_passages(tolleth: canonry.Campaign) -> None:
    one, two = build_pack(tolleth, "lamp"), build_pack(tolleth, "lamp")
    assert one.text != two.text
    assert (one.items, one.omitted, one.total_tokens) == (two.items, two.omitted, two.total_tokens)
    marks = {
        line.split()[1] for line in one.text.splitlines() if line.startswith("[") and line.endswith("instructions]")
    }
    assert len(marks) == 2


def test_marks_differ_between_campaigns_of_the_same_lore(workshop: Workshop) -> None:
    texts = []
    for name in ("one", "two"):
        at = workshop.create(name)
        workshop.bring(at, workshop.write("rule.md", lore("canon", "No one returns.", "always_include: true")))
        texts.append(build_pack(workshop.ask(at), "zeppelin").text)
    assert texts[0] != texts[1]


def test_without_a_place_for_the_secret_the_pack_says_that_its_beginning_will_change(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("rule.md", lore("canon", "No one returns.", "always_include: true")))
    with writing(at):
        pack = build_pack(workshop.ask(at), "death")
    assert uris(pack) == ["rule.md"]
    assert "will differ from this one's" in pack.warnings[0]


def test_rules_come_by_priority_then_order_then_id(workshop: Workshop) -> None:
    at = workshop.create()
    stated = {"c": ("low", 1), "b": ("high", 2), "a": ("high", 1), "d": ("normal", 1)}
    for name, (priority, order) in stated.items():
        text = lore("canon", words(9, name), "always_include: true", f"priority: {priority}", f"order: {order}")
        workshop.bring(at, workshop.write(f"{name}.md", text))
    assert uris(build_pack(workshop.ask(at), "x")) == ["a.md", "b.md", "d.md", "c.md"]


def test_rules_that_do_not_fit_are_named_and_the_same_each_time(workshop: Workshop) -> None:
    at = workshop.create()
    for name in "abc":
        workshop.bring(
            at,
            workshop.write(f"{name}.md", lore("canon", words(80, name), "always_include: true", f"title: Rule {name}")),
        )
    campaign = workshop.ask(at)
    packs = [build_pack(campaign, query, limits=Limits(650)) for query in ("a1 b1 c1", "c1", "c2 c3")]
    for pack in packs:
        assert uris(pack) == uris(packs[0]) != []
        left = {omitted.title for omitted in pack.omitted if omitted.title.startswith("Rule")}
        assert left == {"Rule a", "Rule b", "Rule c"} - {item.passage.title for item in pack.items} != set()
        assert all(title in pack.warnings[1] for title in left)
        assert "more than half" in pack.warnings[0]
        assert pack.total_tokens <= 650
    assert build_pack(campaign, "a1", limits=Limits(20_000)).warnings == ()


def test_a_pack_of_the_past_holds_the_rule_and_the_pin_of_then(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("rule.md", lore("canon", "No one returns from death.", "always_include: true"))
    workshop.bring(at, path, workshop.write("lamp.md", "A lamp of oil.\n"))
    campaign = workshop.ask(at)
    then, pin = now(), chunk_of(campaign, "oil")
    path.write_text(lore("canon", "Anyone may return from death.", "always_include: true"))
    workshop.bring(at, path, workshop.write("lamp.md", "A lamp of brass.\n"))
    pack = build_pack(campaign, "x", scope=Scope(as_of=then), pins=[pin])
    assert [item.passage.exact_text for item in pack.items] == ["No one returns from death.", "A lamp of oil."]
    assert "Anyone may return" in build_pack(campaign, "x").text
    with pytest.raises(NotFound):
        build_pack(campaign, "x", pins=[pin])


def test_too_much_that_always_holds_can_be_told_before_a_pack_is_made(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", lore("canon", words(20, "a"), "always_include: true")))
    assert warn_of_always(workshop.ask(at)) == ""
    workshop.bring(
        at, workshop.write("b.md", lore("canon", words(400, "b"), "always_include: true", "visibility: hidden"))
    )
    assert "more than half" in warn_of_always(workshop.ask(at))


# pins


def test_a_pin_is_in_the_pack_whatever_is_asked(tolleth: canonry.Campaign) -> None:
    pin = chunk_of(tolleth, "Fresnel")
    pack = build_pack(tolleth, "lamp tower", pins=[pin, pin])
    assert uris(pack).count("reference.md") == 1
    assert next(item.why for item in pack.items if item.passage.chunk_id == pin) == "pinned"
    assert uris(build_pack(tolleth, "zeppelin", pins=[pin])) == ["rule.md", "reference.md"]
    assert uris(build_pack(tolleth, "zeppelin", pins=[pack.items[0].passage.chunk_id])) == ["rule.md"]


def test_a_pin_goes_before_better_passages_of_its_class(workshop: Workshop) -> None:
    at = workshop.create()
    for name in ("lamp", "gate"):
        workshop.bring(at, workshop.write(f"{name}.md", lore("canon", f"The {name} stands.")))
    campaign = workshop.ask(at)
    assert uris(build_pack(campaign, "lamp", pins=[chunk_of(campaign, "gate")])) == ["gate.md", "lamp.md"]


def test_a_pin_that_does_not_fit_is_an_error_that_names_it_and_what_is_missing(tolleth: canonry.Campaign) -> None:
    pin = chunk_of(tolleth, "Fresnel")
    need = build_pack(tolleth, "zeppelin", pins=[pin]).total_tokens
    for budget in (need // 2, need - 2):
        with pytest.raises(
            PinDoesNotFit, match=rf"pin '{pin}' takes .* tokens, for which the whole budget is \d+ tokens short"
        ):
            build_pack(tolleth, "lamp", pins=[pin], limits=Limits(budget))
    with pytest.raises(PinDoesNotFit, match="the reference budget is"):
        build_pack(tolleth, "lamp", pins=[pin], limits=Limits(reference=5))


def test_a_pin_that_may_not_be_seen_is_unknown_like_one_that_does_not_exist(tolleth: canonry.Campaign) -> None:
    secret = chunk_of(tolleth, "blood", role="narrator")
    messages = []
    for pin in (secret, "c0000000000000000000", "é\ud800"):
        with pytest.raises(NotFound) as error:
            build_pack(tolleth, "lamp", pins=[pin])
        messages.append(str(error.value).replace(repr(pin), ""))
    assert len(set(messages)) == 1
    assert "secret.md" in uris(build_pack(tolleth, "zeppelin", pins=[secret], scope=Scope("narrator")))


def test_a_pin_is_never_left_out_as_said_already(tolleth: canonry.Campaign) -> None:
    pin = chunk_of(tolleth, "tower")
    state = "The lamp of the tower burns blue when a ship is lost."
    assert "canon.md" not in uris(build_pack(tolleth, "tower", state=state))
    assert "canon.md" in uris(build_pack(tolleth, "tower", state=state, pins=[pin]))


# budgets


@built_once
def crowd(workshop: Workshop) -> Layout:
    """Eight passages of each class about the lamp, some 80 tokens each."""
    at = workshop.create()
    paths = [
        workshop.write(f"{class_}{number}.md", lore(class_, f"The lamp. {words(20, f'{class_[0]}{chr(97 + number)}')}"))
        for class_ in ("canon", "reference", "inspiration")
        for number in range(8)
    ]
    workshop.bring(at, *paths)
    return at


@pytest.fixture
def crowded(workshop: Workshop, crowd: Layout) -> canonry.Campaign:
    return workshop.ask(crowd)


def counts(pack: Pack) -> tuple[int, int, int]:
    classes = [item.passage.class_ for item in pack.items]
    return classes.count("canon"), classes.count("reference"), classes.count("inspiration")


def test_every_budget_holds_and_more_room_never_gives_less(crowded: canonry.Campaign) -> None:
    last = 0
    for budget in range(0, 3600, 150):
        pack = build_pack(crowded, "lamp", limits=Limits(budget))
        assert pack.total_tokens == count_tokens(pack.text) <= budget
        assert len(pack.items) >= last
        assert len(pack.items) + len(pack.omitted) == 24
        last = len(pack.items)
    assert last == 24


def test_classes_share_by_authority_and_inspiration_goes_first(crowded: canonry.Campaign) -> None:
    shares = [counts(build_pack(crowded, "lamp", limits=Limits(budget))) for budget in (300, 500, 1200, 2000)]
    for canon, reference, inspiration in shares:
        assert canon >= reference >= inspiration
        assert canon >= 1
    assert shares[0][2] == 0
    assert shares[-1][1] >= 1
    assert shares[-1][2] >= 1


def test_lower_ranked_passages_are_dropped_first(crowded: canonry.Campaign) -> None:
    ranked = [p.chunk_id for p in crowded.retrieve("lamp", limit=50, copies=True).results]
    pack = build_pack(crowded, "lamp", limits=Limits(900))
    for class_ in ("canon", "reference", "inspiration"):
        there = [ranked.index(item.passage.chunk_id) for item in pack.items if item.passage.class_ == class_]
        gone = [ranked.index(omitted.chunk_id) for omitted in pack.omitted if omitted.class_ == class_]
        assert there == sorted(there)
        assert max(there) < min(gone)


def test_what_a_class_does_not_use_goes_to_the_others(crowded: canonry.Campaign) -> None:
    alone = build_pack(crowded, "lamp", scope=Scope(classes=("inspiration",)), limits=Limits(600))
    assert alone.total_tokens > 500
    assert counts(build_pack(crowded, "lamp", limits=Limits(2600)))[0] == 8


def test_a_budget_of_a_class_is_a_limit(crowded: canonry.Campaign) -> None:
    pack = build_pack(crowded, "lamp", limits=Limits(3600, canon=350, reference=0))
    assert 0 < counts(pack)[0] < 4
    assert counts(pack)[1:] == (0, 8)
    assert set(reasons(pack).values()) == {"over the canon budget", "over the reference budget"}
    assert set(reasons(build_pack(crowded, "lamp", limits=Limits(700))).values()) == {"over the whole budget"}


@pytest.mark.parametrize("limits", [{"whole": -1}, {"canon": -5}, {"inspiration": 10**9}], ids=str)
def test_an_impossible_budget_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must lie between"):
        Limits(**limits)


def test_the_best_of_a_class_takes_room_of_the_classes_below_it(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("canon.md", lore("canon", f"The lamp. {words(60, 'c')}")))
    workshop.bring(at, workshop.write("mood.md", lore("inspiration", "A lamp, a lamp.")))
    campaign = workshop.ask(at)
    whole = build_pack(campaign, "lamp", scope=Scope(classes=("canon",))).total_tokens
    assert uris(build_pack(campaign, "lamp", limits=Limits(whole + 3))) == ["canon.md"]  # pieces are rounded up


def test_the_best_reference_takes_no_room_that_canon_can_use(workshop: Workshop) -> None:
    at = workshop.create()
    for name, count in (("one", 22), ("two", 30)):
        workshop.bring(at, workshop.write(f"{name}.md", lore("canon", f"The lamp. {words(count, name)}")))
    workshop.bring(at, workshop.write("book.md", lore("reference", f"The lamp. {words(45, 'b')}")))
    campaign = workshop.ask(at)
    both = build_pack(campaign, "lamp", scope=Scope(classes=("canon",))).total_tokens + 3
    assert set(uris(build_pack(campaign, "lamp", limits=Limits(both)))) == {"one.md", "two.md"}
