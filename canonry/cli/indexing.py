"""`canonry import`, `reindex`, `status`: everything that changes or judges the index."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from canonry import database
from canonry.catalog import Catalog
from canonry.cli.show import Bar, bold, chosen, dim, note, plural, print_json, printable, size, table
from canonry.config import Settings
from canonry.embedders import fingerprint_of
from canonry.errors import UsageError
from canonry.files import room_for
from canonry.layout import Layout
from canonry.locking import writing
from canonry.tokens import COUNTER

if TYPE_CHECKING:
    from flows.import_files import Choices
    from flows.import_report import ImportReport
    from flows.pipeline import Report
    from flows.plan import Plan

DEGRADED = 3


def import_paths(given: argparse.Namespace) -> int:
    from flows.import_files import import_files
    from stages.select import select_files

    at = chosen(given)
    Catalog.open(at.catalog).close()
    choices = _choices(given)
    selection = select_files(given.paths, apart_from=given.data)
    if given.title and len(selection.files) > 1:
        raise UsageError(
            f"--title names one source, but {len(selection.files)} files were given; import them one by one"
        )
    started = time.perf_counter()
    with writing(at), _plain(at):
        bar = Bar(given)
        try:
            report = import_files(at, selection, choices, bar)
        finally:
            bar.close()
    warn_of_always(given, at)
    if given.json:
        print_json(_import_json(report, selection.ignored_line()))
    else:
        _print_import(given, report, selection.ignored_line(), time.perf_counter() - started)
    if report.rejected or not report.imported:
        return 1
    return DEGRADED if report.index.degraded else 0


def warn_of_always(given: argparse.Namespace, at: Layout) -> None:
    """Say when canon that is always included would take most of a pack."""
    from canonry.campaign import Campaign
    from canonry.pack import warn_of_always

    catalog = Catalog.open(at.catalog)
    any_always = catalog.connection.execute(
        "SELECT EXISTS (SELECT 1 FROM knowledge_source WHERE always_include)"
    ).fetchone()[0]
    catalog.close()
    if any_always and at.lexical.exists():
        with Campaign(at) as campaign:
            warning = warn_of_always(campaign)
        note(given, f"warning: {warning}" if warning else "")


def _choices(given: argparse.Namespace) -> Choices:
    from flows.import_files import Choices
    from stages.statements import parse_facts
    from stages.validate import check_encoding

    stated = {
        "title": given.title, "class": given.class_, "tags": given.tags, "entities": given.entities, "visibility": given.visibility,
        "spoiler_level": given.spoiler_level, "spoiler_tags": given.spoiler_tags, "priority": given.priority, "always_include": given.always_include,
    }  # fmt: skip
    options = {key: value for key, value in stated.items() if value is not None}
    parse_facts(options)
    encoding = check_encoding(given.encoding) if given.encoding else None

    def decide(name: str, twin: str) -> str:
        if given.on_duplicate != "ask":
            return str(given.on_duplicate)
        return _ask(name, twin) if sys.stdin.isatty() and sys.stderr.isatty() and not given.json else "refuse"

    return Choices(options, encoding, decide, with_vectors=not given.no_embed)


def _ask(name: str, twin: str) -> str:
    answers = {"r": "reuse", "s": "separate", "c": "cancel"}
    while True:
        print(
            f"{name} has the same content as source {twin}. [r]euse it, import it [s]eparately, or [c]ancel? ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        answer = sys.stdin.readline()
        if not answer:
            return "cancel"
        if answer.strip().lower()[:1] in answers:
            return answers[answer.strip().lower()[:1]]


def _print_import(given: argparse.Namespace, report: ImportReport, ignored: str, seconds: float) -> None:
    new, updated = report.count("new"), report.count("updated")
    chunks = sum(file.chunks for file in report.imported)
    by_class: dict[str, int] = {}
    for file in report.imported:
        by_class[file.class_] = by_class.get(file.class_, 0) + 1
    if not given.quiet and report.imported:
        classes = ", ".join(f"{count} {name}" for name, count in sorted(by_class.items()) if name)
        done = ", ".join(part for part in (f"{new:,} new", f"{updated:,} updated" if updated else "") if part)
        same = report.count("unchanged") + report.count("reused")
        print(
            f"Imported {bold(plural(len(report.imported), 'file'))} ({done}{f', {same:,} already here' if same else ''}): {classes or 'none'}."
        )
        if chunks:
            print(
                f"{plural(chunks, 'chunk')} from {size(report.bytes)} in {seconds:.1f} s; they can be found by words now."
            )
        for line in report.index.notes:
            note(given, line)
        _print_vectors(report.index)
        if given.verbose:
            print(
                dim(
                    table(
                        ("file", "source", "class", "what", "chunks"),
                        [(f.name, f.source_id, f.class_, f.outcome, f.chunks) for f in report.imported],
                        right=(4,),
                    )
                )
            )
    for line in _grouped(report.warnings):
        note(given, f"warning: {line}")
    note(given, ignored)
    if report.rejected:
        print(f"Not imported: {plural(len(report.rejected), 'file')}", file=sys.stderr)
        for error in report.rejected:
            print(f"  {printable(str(error))}", file=sys.stderr)


def _grouped(warnings: Sequence[str]) -> list[str]:
    """One line for each thing that is said, with the files it is said of."""
    files: dict[str, list[str]] = {}
    for warning in warnings:
        name, _, text = warning.partition(": ")
        files.setdefault(text, []).append(name)
    return [
        f"{names[0]}: {text}" if len(names) == 1 else f"{len(names)} files ({', '.join(names[:3])}, …): {text}"
        for text, names in files.items()
    ]


def _print_vectors(report: Report) -> None:
    if report.degraded:
        print(f"warning: {printable(report.degraded)}", file=sys.stderr)
    elif report.vectors:
        print(f"{plural(report.vectors, 'vector')} in the index, {report.embedded_texts:,} of them new.")
        for line in _alone(report.lexical_only_reasons):
            print(line)


def _alone(reasons: Mapping[str, int]) -> list[str]:
    """What has no vector and gets none, and why."""
    return [
        f"{plural(count, 'text')} without a vector, to be found by words alone: {reason}."
        for reason, count in sorted(reasons.items())
    ]


def _import_json(report: ImportReport, ignored: str) -> dict[str, object]:
    return {
        "imported": [
            {"file": f.name, "source_id": f.source_id, "outcome": f.outcome, "class": f.class_, "chunks": f.chunks}
            for f in report.imported
        ],
        "rejected": [{"file": error.name, "reason": error.reason} for error in report.rejected],
        "warnings": report.warnings,
        "ignored": ignored or None,
        "bytes": report.bytes,
        "seconds": {step: round(seconds, 3) for step, seconds in report.seconds.items()},
        "index": report.index.as_json(),
    }


def reindex(given: argparse.Namespace) -> int:
    from flows.endpoint import plan_of
    from flows.plan import make_plan

    at = chosen(given)
    Catalog.open(at.catalog).close()
    if given.embedder:
        fingerprint_of(given.embedder)
        _set_embedder(at, given.embedder)
    quick = make_plan(at, full=given.full)
    if quick.is_empty and not (quick.chosen and quick.chosen.is_served):
        return _finish_reindex(given, None)
    with writing(at), _plain(at):
        plan, notes = plan_of(at, full=given.full)
        for line in notes:
            note(given, line)
        if plan.is_empty:
            note(given, plan.halted or "")
            return _finish_reindex(given, None)
        if not given.json:
            for reason in plan.reasons:
                note(given, f"stale: {reason}")
        return _finish_reindex(given, _run(given, at, plan))


@contextmanager
def _plain(at: Layout) -> Iterator[None]:
    """A full disk and a damaged database in one line."""
    with room_for(at.root), database.plain_errors(at.root, "`canonry reindex --full` makes the derived files anew"):
        yield


def _set_embedder(at: Layout, spec: str) -> None:
    catalog = Catalog.open(at.catalog)
    current = Settings.parse(catalog.settings()).embedder
    catalog.close()
    if current != spec:
        with writing(at):
            catalog = Catalog.open(at.catalog, write=True)
            catalog.set_settings({"embedder": spec})
            catalog.close()


def _run(given: argparse.Namespace, at: Layout, plan: Plan) -> Report:
    bar = Bar(given)
    try:
        if given.in_process:
            from flows.pipeline import InProcess, run_plan

            return run_plan(at, plan, InProcess(), bar)
        note(given, "running as a Prefect flow …")
        from flows.reindex import run

        return run(at, plan, given.runner, bar)
    finally:
        bar.close()


def _finish_reindex(given: argparse.Namespace, report: Report | None) -> int:
    if given.json:
        print_json({"up_to_date": report is None, **(report.as_json() if report else {})})
    elif report is None:
        if not given.quiet:
            print("Everything is up to date.")
    elif not given.quiet:
        print(
            f"Indexed: {plural(report.chunked_documents, 'document')} cut into {plural(report.chunks, 'chunk')}; "
            f"{report.rows_added:,} rows added, {report.rows_removed:,} removed, {report.rows:,} in all."
        )
        _print_vectors(report)
        print(dim("Seconds: " + ", ".join(f"{step} {seconds:.1f}" for step, seconds in report.seconds.items())))
    if report is None:
        return 0
    for key, reason in report.rejected:
        print(f"canonry: document {key}: {printable(reason)}", file=sys.stderr)
    return 1 if report.rejected else DEGRADED if report.degraded else 0


def status(given: argparse.Namespace) -> int:
    from flows.plan import as_json, make_plan, read_index, sources_without_vectors

    at = chosen(given)
    plan, state = make_plan(at), read_index(at)
    trouble = plan.chosen.look() if plan.chosen else None
    alone = json.loads(state.meta.get("lexical_only", "{}"))
    facts: dict[str, Any] = {
        "campaign_id": at.campaign, "sources": len(plan.documents), "chunks": state.rows, "embedder": plan.settings.embedder,
        "generation": state.meta.get("generation") or None, "vectors_by": state.meta.get("vector_fingerprint") or None,
        "chunks_without_vector": state.pending + int(state.meta.get("vectors_missing", 0)) if plan.fingerprint else None,
        "sources_without_vectors": sources_without_vectors(plan.documents, state) if plan.fingerprint else [],
        "embedder_trouble": trouble, "lexical_only": alone, "default_mode": plan.settings.mode, "token_counter": COUNTER,
    }  # fmt: skip
    if given.json:
        print_json({**facts, "plan": as_json(plan)})
        return 0 if plan.is_empty and not trouble else DEGRADED
    print(
        f"{bold(at.campaign)}: {plural(len(plan.documents), 'source')}, {plural(state.rows, 'chunk')}, default mode {plan.settings.mode}"
    )
    if plan.chosen is None:
        print("Embedder: none; search is by words.")
    else:
        made_by = state.meta.get("vector_fingerprint") or "not made yet"
        without = plural(facts["chunks_without_vector"], "chunk")
        print(f"Embedder: {plan.settings.embedder} ({plan.fingerprint}); vectors: {made_by}, {without} without one")
        for line in (*plan.chosen.notices, *_alone(alone), *([f"Trouble: {trouble}"] if trouble else [])):
            print(printable(line))
    print(f"Chunks: {plan.settings.chunk.target_tokens} tokens aimed at, as counted by {COUNTER}.")
    if plan.is_empty:
        print("Up to date, but for the trouble above." if trouble else "Up to date.")
        return DEGRADED if trouble else 0
    print("Stale; `canonry reindex` would do this:")
    for reason in plan.reasons:
        print(f"  {reason}")
    return DEGRADED
