"""`canonry import`, `reindex`, `status`: everything that changes or judges the index."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from canonry import database
from canonry.catalog import Catalog
from canonry.cli.arguments.options import stated_facts
from canonry.cli.proposals import waiting_line
from canonry.cli.show import Bar, bold, chosen, dim, note, plural, print_json, printable, size, table
from canonry.config import Settings
from canonry.embedders import fingerprint_of
from canonry.errors import UsageError
from canonry.files import room_for
from canonry.holdings import Twin
from canonry.layout import Layout
from canonry.locking import writing
from canonry.restored import embedder_remark
from canonry.tokens import COUNTER

if TYPE_CHECKING:
    from flows.import_files import Choices
    from flows.import_report import Imported, ImportReport
    from flows.plan import Plan
    from flows.progress import Report

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
    with writing(at), plain_failures(at):
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

    options = stated_facts(given)
    parse_facts(options)
    encoding = check_encoding(given.encoding) if given.encoding else None

    def decide(name: str, twin: Twin) -> str:
        if given.on_duplicate != "ask":
            return str(given.on_duplicate)
        return _ask(name, twin) if sys.stdin.isatty() and sys.stderr.isatty() and not given.json else "refuse"

    return Choices(options, encoding, decide, with_vectors=not given.no_embed)


def _ask(name: str, twin: Twin) -> str:
    answers = {"r": "reuse", "s": "separate", "c": "cancel"}
    while True:
        print(
            f"{printable(name)} has {twin}. [r]euse it, import it [s]eparately, or [c]ancel? ",
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
    taken = [file for file in report.imported if file.outcome not in ("proposed", "declined")]
    chunks = sum(file.chunks for file in taken)
    if not given.quiet and taken:
        by_class = Counter(file.class_ for file in taken if file.class_)
        classes = ", ".join(f"{count} {name}" for name, count in sorted(by_class.items()))
        same = report.count("unchanged") + report.count("reused")
        counts = [f"{report.count(what):,} {what}" for what in ("new", "updated", "renamed") if report.count(what)]
        counts += [f"{same:,} already here"] if same else []
        print(f"Imported {bold(plural(len(taken), 'file'))} ({', '.join(counts)}): {classes or 'none'}.")
        if chunks:
            print(
                f"{plural(chunks, 'chunk')} from {size(report.bytes)} in {seconds:.1f} s; they can be found by words now."
            )
        for line in report.index.notes:
            note(given, line)
        print_vectors(report.index)
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
    note(given, waiting_line(report.waiting))
    print_complaints(given, report, ignored)


def print_complaints(given: argparse.Namespace, report: ImportReport, ignored: str = "") -> None:
    """Warnings, what was left out and what was refused, on standard error."""
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


def print_vectors(report: Report) -> None:
    if report.degraded:
        print(f"warning: {printable(report.degraded)}", file=sys.stderr)
    elif report.vectors:
        print(
            f"{plural(report.vectors, 'vector')} in the index; {plural(report.embedded_texts, 'text')} newly embedded."
        )
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
        "imported": [file_json(file) for file in report.imported],
        "rejected": [{"file": error.name, "reason": error.reason} for error in report.rejected],
        "warnings": report.warnings,
        "ignored": ignored or None,
        "bytes": report.bytes,
        "seconds": {step: round(seconds, 3) for step, seconds in report.seconds.items()},
        "index": report.index.as_json(),
    }


def file_json(file: Imported) -> dict[str, object]:
    """What became of one file, for a program; `proposal` where one waits."""
    told: dict[str, object] = {
        "file": file.name, "source_id": file.source_id, "outcome": file.outcome, "class": file.class_, "chunks": file.chunks,
    }  # fmt: skip
    return told if file.proposal is None else {**told, "proposal": file.proposal}


def reindex(given: argparse.Namespace) -> int:
    at = chosen(given)
    Catalog.open(at.catalog).close()
    if given.embedder:
        fingerprint_of(given.embedder)
        set_embedder(at, given.embedder)
    return bring_up_to_date(given, at, full=given.full, in_process=given.in_process)


def bring_up_to_date(given: argparse.Namespace, at: Layout, *, full: bool = False, in_process: bool) -> int:
    """Carry out what is stale, if anything is, and say what was done. The server of a model that has one is asked first."""
    from flows.endpoint import plan_of
    from flows.plan import make_plan

    quick = make_plan(at, full=full)
    if quick.is_empty and not (quick.chosen and quick.chosen.is_served):
        return _finish_reindex(given, None)
    with writing(at), plain_failures(at):
        plan, notes = plan_of(at, full=full)
        for line in notes:
            note(given, line)
        if plan.is_empty:
            note(given, plan.halted or "")
            return _finish_reindex(given, None)
        if not given.json:
            for reason in plan.reasons:
                note(given, f"stale: {reason}")
        return _finish_reindex(given, _run(given, at, plan, in_process=in_process))


@contextmanager
def plain_failures(at: Layout) -> Iterator[None]:
    """A full disk and a damaged database in one line."""
    with room_for(at.root), database.plain_errors(at.root, "`canonry reindex --full` makes the derived files anew"):
        yield


def set_embedder(at: Layout, spec: str) -> bool:
    """Set the campaign's embedder; whether that changed anything."""
    catalog = Catalog.open(at.catalog)
    current = Settings.parse(catalog.settings()).embedder
    catalog.close()
    if current != spec:
        with writing(at):
            catalog = Catalog.open(at.catalog, write=True)
            catalog.set_settings({"embedder": spec})
            catalog.close()
    return current != spec


def _run(given: argparse.Namespace, at: Layout, plan: Plan, *, in_process: bool) -> Report:
    bar = Bar(given)
    try:
        if in_process:
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
        if report.chunked_documents or report.rows_added or report.rows_removed:
            print(
                f"Indexed: {plural(report.chunked_documents, 'document')} cut into {plural(report.chunks, 'chunk')}; "
                f"{report.rows_added:,} rows added, {report.rows_removed:,} removed, {report.rows:,} in all."
            )
        print_vectors(report)
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
    with closing(Catalog.open(at.catalog)) as catalog:
        remark = embedder_remark(catalog)
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
        note(given, remark)
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
