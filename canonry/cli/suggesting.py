"""`canonry suggest` and `canonry context build|list|show`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from canonry.campaign import Campaign
from canonry.cli.show import bold, chosen, dim, note, print_json, printable, table
from canonry.eligibility import Scope
from canonry.errors import CanonryError, UsageError
from canonry.files import whole_file
from canonry.suggest import payload
from canonry.suggest import suggestions as suggesting
from canonry.suggest.binding import Binding, read_binding
from canonry.suggest.blocks import Budgets
from canonry.suggest.labels import PART_LABELS, REASON_LABELS, TYPE_LABELS
from canonry.suggest.payload import Context
from canonry.suggest.suggestions import Situation, Suggestion


def suggest(given: argparse.Namespace) -> None:
    scope = _scope(given)
    binding = None
    if given.binding is not None:
        binding = read_binding(given.binding) if given.binding.exists() else Binding.of()
    with Campaign(chosen(given)) as campaign:
        found = suggesting.suggest(campaign, scope, Situation(given.chapter, given.goal), given.top)
    language = suggesting.pick_language(given.lang, given.goal, (one.seen.title for one in found))
    if binding is not None:
        _write_binding(given.binding, binding.joined([one.entry.entry_id for one in found]))
    if given.json:
        print_json({
            "campaign_id": campaign.at.campaign, "role": scope.role, "spoiler_level": scope.spoiler_level,
            "story_time": scope.story_time, "chapter": given.chapter, "goal": given.goal, "top": given.top, "language": language,
            "suggestions": [one.as_json(language) for one in found],
        })  # fmt: skip
    for one in found if not given.json else ():
        _print_suggestion(one, language)
    if not found and not given.json:
        print(f"No approved entry that {scope.role} sees at spoiler level {scope.spoiler_level}.")
        note(given, "`canonry entry list` shows entries of every status, `canonry entry review` approves them")
    if binding is not None:
        note(given, f"Wrote {given.binding}; next: {_next_command(given)}")


def _next_command(given: argparse.Namespace) -> str:
    """The command that makes a context of the binding for the same situation and reader: scores drop what finds no room."""
    stated = {
        "binding": given.binding, "chapter": given.chapter, "goal": " ".join(given.goal.split()) or None,
        "lang": given.lang if given.lang != "auto" else None, "role": given.role if given.role != "player" else None,
        "spoiler-level": given.spoiler_level or None, "forbid-tags": ",".join(given.forbid_tags) or None,
        "story-time": given.story_time,
    }  # fmt: skip
    options = ((name, str(value)) for name, value in stated.items() if value is not None)
    said = (f"--{name}{'=' if value[:1] == '-' else ' '}{shlex.quote(value)}" for name, value in options)
    return " ".join(("canonry context build", *said))


def _print_suggestion(one: Suggestion, language: str) -> None:
    """Two lines: what it is, and how its score came about."""
    type_, names, reasons = TYPE_LABELS[language][one.entry.type], PART_LABELS[language], REASON_LABELS[language]
    print(f"{one.score.total:4}  {bold(_line(one.seen.title))} · {type_}  {dim(one.entry.entry_id)}")
    parts = " + ".join(f"{names[name]} {points}" for name, points in one.score.parts.items() if points)
    why = ", ".join(reasons[reason] for reason in one.score.reasons)
    print(dim(f"      {parts}{': ' if why else ''}{why}"))


def _write_binding(path: Path, binding: Binding) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(binding.as_json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def build(given: argparse.Namespace) -> None:
    at = chosen(given)
    stated = {"whole": given.budget, "knowledge": given.budget_knowledge}
    budgets = Budgets(**{name: value for name, value in stated.items() if value is not None})
    binding = read_binding(given.binding)
    if not binding.all_ids:
        raise UsageError(f"{given.binding}: names no source; `canonry suggest --binding FILE` writes some into it")
    with Campaign(at) as campaign:
        context = payload.build_context(
            campaign, binding, _scope(given), Situation(given.chapter, given.goal), language=given.lang, budgets=budgets
        )
    if not context.blocks:
        raise CanonryError("nothing fits into these budgets; give more with --budget and --budget-knowledge")
    context_id = None if given.preview else payload.store_context(at, context)
    if given.json:
        print_json({"context_id": context_id, **context.as_json()})
    elif given.preview:
        print(_preview(context))
    else:
        sys.stdout.write(f"{context.system_prompt}\n")
    _note_rest(given, context, context_id)


def _preview(context: Context) -> str:
    rows = [
        (
            block.kind,
            block.source_id,
            block.title,
            len(block.text),
            "" if block.score is None else block.score,
            item["excerpt"],
        )
        for block, item in ((block, block.as_json()) for block in context.blocks)
    ]
    return table(("kind", "id", "title", "characters", "score", "excerpt"), rows, right=(3, 4))


def _note_rest(given: argparse.Namespace, context: Context, context_id: int | None) -> None:
    """What a person should know of a context beside its text."""
    for source_id in context.binding.repeated:
        note(given, f"named more than once, taken once: {_line(source_id)}")
    for block in context.blocks:
        if block.was_cut:
            note(
                given, f"cut: {_line(block.title)} ({block.source_id}) goes on after {len(block.content):,} characters"
            )
    for dropped in context.dropped:
        block = dropped.block
        score = "" if block.score is None else f", score {block.score}"
        note(given, f"left out: {_line(block.title)} ({block.source_id}{score}): {dropped.reason}")
    number = "preview, not kept" if context_id is None else f"context {context_id}"
    note(given, f"{number}: {context.context_summary or 'nothing'}, {len(context.system_prompt):,} characters")


def list_contexts(given: argparse.Namespace) -> None:
    stored = payload.list_contexts(chosen(given), _scope(given), given.limit)
    if given.json:
        print_json([one.as_json() for one in stored])
        return
    rows = [
        (
            one.context_id,
            one.created_at[:19],
            one.role,
            one.payload["charCount"],
            one.summary,
            one.payload.get("goal", ""),
        )
        for one in stored
    ]
    print(table(("id", "confirmed (UTC)", "for", "characters", "holds", "goal"), rows, right=(0, 3)))
    note(
        given,
        f"Contexts for {given.role}, up to spoiler level {given.spoiler_level}; --role and --spoiler-level name others.",
    )


def show_context(given: argparse.Namespace) -> None:
    one = payload.show_context(chosen(given), given.id, _scope(given))
    if given.json:
        print_json(one.as_json())
        return
    sys.stdout.write(f"{one.payload['systemPrompt']}\n")
    note(given, f"confirmed {one.created_at[:19]} UTC for {one.role}: {one.summary}")


def _scope(given: argparse.Namespace) -> Scope:
    return Scope(given.role, given.spoiler_level, given.forbid_tags, story_time=given.story_time)


def _line(text: str) -> str:
    return " ".join(printable(text).split())
