from __future__ import annotations

from canonry.records import HeadingRule, Marks
from canonry.source_rows import dump_heading_rules, load_heading_rules


def test_heading_rules_are_read_back_as_they_were() -> None:
    rules = (HeadingRule("Act *", Marks(3, ("ending",), True)), HeadingRule("Łódź", Marks()))
    assert load_heading_rules(dump_heading_rules(rules)) == rules
