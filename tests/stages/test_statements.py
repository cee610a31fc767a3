"""Options and later changes, as statements about a source."""

from __future__ import annotations

import pytest

from canonry.errors import UsageError
from canonry.records import SourceFacts
from stages.statements import after_edits, parse_facts, with_options


@pytest.mark.parametrize("value", ["a,b", "a, b ,a", ["a", "b"], ("a", "b")], ids=repr)
def test_a_list_may_be_written_with_commas(value: object) -> None:
    assert parse_facts({"tags": value}) == {"tags": ("a", "b")}


def test_text_that_is_not_unicode_is_wrong_usage() -> None:
    for key in ("title", "tags"):
        with pytest.raises(UsageError, match="Unicode"):
            parse_facts({key: "\udcff"})


def test_what_the_user_changed_later_stays_and_on_secrecy_the_stricter_wins() -> None:
    imported = SourceFacts("New", "reference", "normal", 4, ("x",), ("new",))
    current = SourceFacts("Mine", "canon", "hidden", 2, ("y",), ("old",))
    after = after_edits(imported, current, ["title", "visibility", "spoiler_level", "spoiler_tags"])
    assert after == SourceFacts("Mine", "reference", "hidden", 4, ("x", "y"), ("new",))
    assert after_edits(imported, current, []) == imported


def test_options_of_a_later_import_hold_and_never_lower_a_secret() -> None:
    facts = SourceFacts("Mill", "reference", "hidden", 3)
    assert with_options(
        facts, {"class": "canon", "spoiler_level": 1, "visibility": "normal", "title": None}
    ) == SourceFacts("Mill", "canon", "hidden", 3)
