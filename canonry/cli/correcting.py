"""`canonry correct` and `canonry conflicts`."""

from __future__ import annotations

import argparse

from canonry import conflicts as finding
from canonry.campaign import Campaign
from canonry.cli.arguments.options import stated_facts
from canonry.cli.asking import question
from canonry.cli.show import Bar, bold, chosen, dim, note, plural, print_json, printable
from canonry.conflicts import Conflict, Side
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.errors import NotFound, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.retrieval import Passage

_OWNER = Scope(NARRATOR, HIGHEST_LEVEL)


def correct(given: argparse.Namespace) -> None:
    at = chosen(given)
    text = question(given)
    with Campaign(at) as campaign:
        every = [] if given.of else finding.contradicted_by(campaign, _OWNER, text)
        contradicted = [side for side in every if _is_as_open(side.passage, given)]
        of = _named(campaign, given.of) if given.of else [side.passage for side in contradicted]
    source_id = _record(given, at, text, of)
    if given.json:
        print_json({
            "source_id": source_id, "corrects": [{"chunk_id": one.chunk_id, "source_id": one.source_id} for one in of],
            "contradicts": [side.as_json() for side in contradicted],
        })  # fmt: skip
        return
    print(f"Recorded as {bold(source_id)}; the next query sees it. `canonry source delete {source_id}` takes it back.")
    for side in contradicted:
        note(given, f"corrects {side.name}: {side.statement!r}")
    if len(every) > len(contradicted):
        secret = plural(len(every) - len(contradicted), "statement")
        note(
            given,
            f"It contradicts {secret} of greater secrecy too, which it does not correct: name them with --of to do so.",
        )
    for one in of if given.of else ():
        note(given, f"corrects {one.title} ({one.chunk_id})")
    if not of and not every:
        note(
            given,
            "It contradicts no statement that canonry can compare; name what it corrects with --of CHUNK if there is any.",
        )


def _is_as_open(passage: Passage, given: argparse.Namespace) -> bool:
    """Whether whoever may see the correction as it is stated may see the passage."""
    level, tags = given.spoiler_level or 0, given.spoiler_tags or ()
    shown = given.visibility == "hidden" or passage.visibility == "normal"
    return shown and passage.spoiler_level <= level and set(passage.spoiler_tags) <= set(tags)


def _named(campaign: Campaign, chunk_ids: list[str]) -> list[Passage]:
    _, found = campaign.standing(_OWNER, chunk_ids)
    for chunk_id in chunk_ids:
        if chunk_id not in found:
            raise NotFound(f"chunk {chunk_id!r} is not in the live index; `canonry query --json` shows ids")
    return list(found.values())


def _record(given: argparse.Namespace, at: Layout, text: str, of: list[Passage]) -> str:
    from flows.correction import add_correction

    facts = stated_facts(given) if hasattr(given, "title") else {}
    with writing(at):
        bar = Bar(given)
        try:
            return add_correction(at, text, of, facts, bar)
        finally:
            bar.close()


def conflicts(given: argparse.Namespace) -> int:
    """Exit code 1 where a list holds an open conflict."""
    at = chosen(given)
    scope = Scope(given.role, given.spoiler_level, given.forbid_tags)
    if given.id is None:
        if given.prefer or given.correct or given.no_conflict or given.reopen:
            raise UsageError("name the conflict to settle; `canonry conflicts` lists them")
        return _list(given, at, scope)
    with Campaign(at) as campaign:
        conflict = finding.find_conflict(campaign, scope, given.id)
    settled = _settle(given, at, conflict)
    with Campaign(at) as campaign:
        there = [one for one in finding.find_conflicts(campaign, scope) if one.conflict_id == conflict.conflict_id]
    conflict = there[0] if there else conflict
    if given.json:
        print_json(conflict.as_json())
    else:
        _print(conflict, whole=not settled)
        note(given, settled)
    return 0


def _list(given: argparse.Namespace, at: Layout, scope: Scope) -> int:
    bar = Bar(given)
    with Campaign(at) as campaign:
        try:
            every = finding.find_conflicts(campaign, scope, bar)
        finally:
            bar.close()
    shown = every if given.all else [one for one in every if one.is_open]
    is_open = any(one.is_open for one in every)
    if given.json:
        print_json([one.as_json() for one in shown])
        return int(is_open)
    for one in shown:
        _print(one, whole=False)
        print()
    open_, settled = sum(one.is_open for one in every), len(every) - sum(one.is_open for one in every)
    note(
        given,
        f"{plural(open_, 'open conflict')}{f', and {settled} settled' + ('' if given.all else ' (--all lists them)') if settled else ''}.",
    )
    note(
        given,
        f"Compared is canon that {given.role} sees up to spoiler level {given.spoiler_level}; --role and --spoiler-level name others.",
    )
    return int(is_open)


def _settle(given: argparse.Namespace, at: Layout, conflict: Conflict) -> str:
    """What was done, in a line; empty where nothing was asked for."""
    if given.correct:
        sides = [conflict.one.passage, conflict.other.passage]
        source_id = _record(given, at, given.correct, sides)
        with writing(at):
            finding.decide(at, conflict, finding.CORRECTED, note=given.note)
        return f"The correction {source_id} holds from now on."
    if given.prefer:
        holds = _side(conflict, given.prefer)
        with writing(at):
            finding.decide(at, conflict, finding.PREFERRED, holds=holds, note=given.note)
        return f"{holds.passage.source_id} holds from now on, and stands beside the other in every pack."
    if given.no_conflict:
        with writing(at):
            finding.decide(at, conflict, finding.NO_CONFLICT, note=given.note)
        return "Both hold from now on."
    if given.reopen:
        with writing(at):
            finding.reopen(at, conflict)
        return "It is as it was found."
    return ""


def _side(conflict: Conflict, name: str) -> Side:
    for side in (conflict.one, conflict.other):
        if name in (side.passage.source_id, side.passage.chunk_id, side.passage.title):
            return side
    ids = f"{conflict.one.passage.source_id} or {conflict.other.passage.source_id}"
    raise UsageError(f"{name!r} is no side of conflict {conflict.conflict_id}; --prefer takes {ids}")


def _print(conflict: Conflict, *, whole: bool) -> None:
    print(f"{bold(conflict.conflict_id)}  {conflict.status}")
    holds = conflict.holds
    for side in (conflict.one, conflict.other):
        passage = side.passage
        mark = "  ← holds" if side is holds else ""
        print(
            f"  {printable(side.name)}, lines {passage.start_line}–{passage.end_line}  {dim(passage.source_id)}{mark}"
        )
        if whole:
            print("\n".join(f"    {line}" for line in printable(passage.exact_text.strip()).splitlines()))
        else:
            print(f"    {printable(side.statement)}")
    if conflict.decision and conflict.decision.note:
        print(f"  note: {printable(conflict.decision.note)}")
