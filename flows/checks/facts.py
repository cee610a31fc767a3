"""What is said of sources and has no effect, or another than was meant; and how their chunks and packs come out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from difflib import get_close_matches

from canonry.campaign import Campaign
from canonry.pack import warn_of_always
from canonry.records import HeadingRule, Marks
from canonry.source_rows import load_heading_rules
from canonry.text import fold
from flows.checks.findings import ADVICE, Examination, Finding
from flows.checks.passages import opened
from stages.chunking.marks import rule_marks

ROLES = ("player", "narrator", "writer", "simulation", "blind_reader")
TINY_SHARE = 6  # of the setting chunk.min: a chunk below one in so many tokens is tiny
MANY_TINY = 20  # chunks of one source, and at least half of them


def check(look: Examination) -> Iterator[Finding]:
    """Advice on tiny chunks, always-included canon, rules and roles that match nothing, and sources that replace others."""
    with opened(look.at) as db:
        yield from _tiny(look, db)
        yield from _heading_rules(db)
        yield from _roles(db)
        yield from _without_effect(db)
        yield from _successors(db)
        yield from _corrections(db)
    with Campaign(look.at) as campaign:
        if warning := warn_of_always(campaign):
            what, _, do = warning.partition("; ")
            yield Finding("always-overspend", what, look.at.campaign, do, ADVICE)


def _tiny(look: Examination, db: sqlite3.Connection) -> Iterator[Finding]:
    below = look.settings.chunk.min_tokens // TINY_SHARE if look.settings else 0
    rows = db.execute(
        "SELECT v.source_id, sum(c.token_count < ?1), count(*) FROM knowledge_chunk c "
        "JOIN cat.knowledge_source_version v USING (version_id) GROUP BY c.version_id "
        "HAVING sum(c.token_count < ?1) >= max(?2, count(*) / 2) ORDER BY 1",
        (below, MANY_TINY),
    )
    for source, tiny, chunks in rows:
        yield Finding(
            "tiny-chunks", f"{tiny} of its {chunks} chunks have fewer than {below} tokens", source,
            "join its short sections under fewer headings, if they belong together", ADVICE,
        )  # fmt: skip


def _heading_rules(db: sqlite3.Connection) -> Iterator[Finding]:
    """Rules of canonry.toml that match no heading of any source they were stated for."""
    sources = db.execute(
        "SELECT source_id, heading_rules FROM cat.knowledge_source WHERE heading_rules <> '[]'"
    ).fetchall()
    owners: dict[str, list[str]] = {}
    matched: set[str] = set()
    for source_id, stated in sources:
        paths = db.execute(
            "SELECT DISTINCT c.heading_path FROM knowledge_chunk c JOIN cat.knowledge_source_version v USING (version_id) "
            "WHERE v.source_id = ?", (source_id,),
        )  # fmt: skip
        headings = {heading for (path,) in paths for heading in json.loads(path)}
        for rule in load_heading_rules(stated):
            owners.setdefault(rule.pattern, []).append(source_id)
            probe = [HeadingRule(rule.pattern, Marks(spoiler_level=1))]
            if any(rule_marks(heading, probe).spoiler_level for heading in headings):
                matched.add(rule.pattern)
    for pattern, source_ids in owners.items():
        if pattern not in matched:
            yield Finding(
                "heading-rule-unmatched", f"the [[headings]] rule {pattern!r} matches no heading of the {len(source_ids)} sources it holds for",
                source_ids[0], "correct the rule in canonry.toml and import again", ADVICE,
            )  # fmt: skip


def _roles(db: sqlite3.Connection) -> Iterator[Finding]:
    for source_id, role in db.execute(
        "SELECT source_id, label FROM cat.source_label WHERE kind = 'allowed_role' ORDER BY 1, 2"
    ):
        if fold(role) not in ROLES and not fold(role).startswith("npc:") and role != "nobody":
            near = get_close_matches(fold(role), ROLES, 1)
            hint = f"did you mean {near[0]}?" if near else f"the roles are {', '.join(ROLES)} and npc:<id>"
            yield Finding(
                "role-unknown", f"allows the role {role!r}, which no question has by default", source_id, hint, ADVICE
            )


def _without_effect(db: sqlite3.Connection) -> Iterator[Finding]:
    for source_id, class_ in db.execute(
        "SELECT source_id, class FROM cat.knowledge_source WHERE always_include = 1 AND class <> 'canon' ORDER BY 1"
    ):
        yield Finding(
            "always-without-effect", f"is to be always included, and is {class_}: only canon is", source_id,
            "make it canon, or do not include it always", ADVICE,
        )  # fmt: skip


def _successors(db: sqlite3.Connection) -> Iterator[Finding]:
    """Sources whose successor is disabled or leads back to themselves, so that none of them holds."""
    rows = db.execute("SELECT source_id, superseded_by, enabled FROM cat.knowledge_source").fetchall()
    successor = {source_id: by for source_id, by, _ in rows if by}
    enabled = {source_id for source_id, _, enabled in rows if enabled}
    for source_id, by in sorted(successor.items()):
        seen = {source_id}
        while by not in seen and by in successor:
            seen.add(by)
            by = successor[by]
        if by in seen:
            what = f"is superseded in a circle, by {successor[source_id]}"
        elif by not in enabled:
            what = f"is superseded by {by}, which is disabled or gone"
        else:
            continue
        yield Finding("successor-missing", what, source_id, "name the source that holds in its place, or none", ADVICE)


def _corrections(db: sqlite3.Connection) -> Iterator[Finding]:
    """Corrections of which one passage, the new one or the old, is not in the live version of its source any more."""
    held = (
        "EXISTS (SELECT 1 FROM cat.knowledge_source_version v JOIN knowledge_chunk c USING (version_id) "
        "WHERE v.source_id = {source} AND v.valid_to IS NULL AND c.body_hash = {body})"
    )
    corrects = held.format(source="k.source_id", body="k.body_hash")
    corrected = held.format(source="k.of_source_id", body="k.of_body_hash")
    rows = db.execute(
        f"SELECT k.source_id, k.of_source_id, {corrects} FROM cat.correction k "
        f"WHERE NOT {corrects} OR NOT {corrected} ORDER BY 1, 2"
    )
    for source_id, of, is_there in rows:
        lost = (
            f"a passage of {of} that its live version does not have"
            if is_there
            else f"{of} with a passage that is gone"
        )
        yield Finding(
            "correction-of-nothing", f"corrects {lost}", source_id,
            "look whether the text is right now; then take the correction back, or make it anew", ADVICE,
        )  # fmt: skip
