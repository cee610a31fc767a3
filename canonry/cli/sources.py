"""`canonry source …`"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from canonry import database, proposals
from canonry.catalog import Catalog
from canonry.cli.arguments.options import stated_facts
from canonry.cli.proposals import changes_json, waiting_line
from canonry.cli.show import bold, chosen, confirm, dim, note, plural, print_json, printable, size, table
from canonry.errors import CanonryError, IndexMissing, UsageError
from canonry.files import read_stored
from canonry.holdings import stored_text
from canonry.layout import Layout
from canonry.locking import writing
from canonry.proposals import plainly, shown
from canonry.records import Source


def list_all(given: argparse.Namespace) -> None:
    at = chosen(given)
    catalog = Catalog.open(at.catalog)
    sources = catalog.sources()
    counts = _chunk_counts(at)
    if given.json:
        print_json([_source_json(source, counts.get(source.version_id)) for source in sources])
        return
    if not sources:
        print(f"Campaign {at.campaign} has no sources yet; `canonry import -c {at.campaign} FOLDER` brings some.")
        return
    rows = [
        (
            s.source_id,
            s.facts.title,
            s.facts.class_,
            _secrecy(s),
            counts.get(s.version_id, "not indexed"),
            size(s.file_size),
            ", ".join(word for word, holds in (("disabled", not s.enabled), ("locked", s.locked)) if holds),
        )
        for s in sources
    ]
    print(table(("source", "title", "class", "secrecy", "chunks", "size", ""), rows, right=(4, 5)))


def show(given: argparse.Namespace) -> None:
    from canonry.history import packs_with

    at = chosen(given)
    catalog = Catalog.open(at.catalog)
    source = catalog.source(given.id)
    facts = _source_json(source, _chunk_counts(at).get(source.version_id))
    facts["used_in_packs"] = packs_with(catalog, source.source_id)
    facts["lifecycle"] = _lifecycle(at, source)
    if given.json:
        print_json(facts)
        return
    print(bold(source.facts.title))
    rows = [
        (key.replace("_", " "), ", ".join(value) if isinstance(value, list) else value)
        for key, value in facts.items()
        if value not in (None, [], {}) and key != "lifecycle"
    ]
    rows += [(f"  {step}", what) for step, what in facts["lifecycle"].items()]
    print(table(("what", "value"), rows))


def show_text(given: argparse.Namespace) -> None:
    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        source = catalog.source(given.id)
        version_id = f"{source.source_id}@{given.version}" if given.version is not None else source.version_id
        text = stored_text(at, catalog.connection, version_id)
        hashes = {version[0]: version[1] for version in catalog.versions(source.source_id)}
    if given.json:
        print_json(
            {
                "source_id": source.source_id,
                "source_version_id": version_id,
                "content_hash": hashes[version_id],
                "text": text,
            }
        )
    else:
        print(printable(text.replace("\r\n", "\n")), end="" if text.endswith("\n") else "\n")


def show_chunks(given: argparse.Namespace) -> None:
    at = chosen(given)
    source = Catalog.open(at.catalog).source(given.id)
    path = at.file(source.content_hash, "md" if source.mime_type == "text/markdown" else "txt")
    data = read_stored(path)
    chunks = [_chunk_json(row, data) for row in _chunk_rows(at, source.version_id)]
    if given.json:
        print_json(chunks)
        return
    print(f"{bold(source.facts.title)}: {plural(len(chunks), 'chunk')}")
    for chunk in chunks:
        place = f"lines {chunk['start_line']}–{chunk['end_line']}" + (
            f", page {chunk['page']}" if chunk["page"] is not None else ""
        )
        marks = "".join(
            (
                f", spoiler level {chunk['spoiler_level']}" if chunk["spoiler_level"] else "",
                ", hidden" if chunk["hidden"] else "",
            )
        )
        print(f"\n{bold(' > '.join(chunk['heading_path']) or '(no heading)')}  {dim(chunk['chunk_id'])}")
        print(dim(f"{place}, {chunk['token_count']} tokens{marks}"))
        print(printable(chunk["text"]))


def history(given: argparse.Namespace) -> None:
    from flows.housekeeping import count_chunks

    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        source = catalog.source(given.id)
        versions = catalog.versions(source.source_id)
        waiting = [p.proposal_id for p in proposals.find_all(catalog.connection, source_id=source.source_id)]
    chunks = count_chunks(at)
    if given.json:
        keys = ("source_version_id", "content_hash", "file_size", "valid_from", "valid_to")
        print_json(
            [{**dict(zip(keys, version, strict=True)), "chunks": chunks.get(version[0])} for version in versions]
        )
        return
    rows = [
        (v[0], v[3][:19], v[4][:19] if v[4] else "live", size(v[2]), chunks.get(v[0], "not cut"), v[1][:12])
        for v in versions
    ]
    print(table(("version", "from (UTC)", "until", "size", "chunks", "sha-256"), rows, right=(3, 4)))
    if len(versions) > 1:
        note(given, f"`canonry source text {source.source_id} --version 1` prints an earlier text")
    note(given, waiting_line(waiting))


def enable(given: argparse.Namespace) -> None:
    _switch(given, enabled=True)


def disable(given: argparse.Namespace) -> None:
    _switch(given, enabled=False)


def lock(given: argparse.Namespace) -> None:
    _set_lock(given, locked=True)


def unlock(given: argparse.Namespace) -> None:
    _set_lock(given, locked=False)


def _switch(given: argparse.Namespace, *, enabled: bool) -> None:
    with _writable(given) as (catalog, source):
        catalog.set_enabled(source.source_id, enabled)
    word = "enabled" if enabled else "disabled"
    if given.json:
        print_json({"source_id": source.source_id, "enabled": enabled})
    elif not given.quiet:
        print(f"{source.source_id} is {word}; the next query sees it so.")


def _set_lock(given: argparse.Namespace, *, locked: bool) -> None:
    with _writable(given) as (catalog, source):
        proposals.set_locked(catalog.connection, source.source_id, locked)
        waiting = [p.proposal_id for p in proposals.find_all(catalog.connection, source_id=source.source_id)]
    if given.json:
        print_json({"source_id": source.source_id, "locked": locked, "waiting": waiting})
    elif not given.quiet:
        means = "edits, imports and refreshes of it become proposals" if locked else "it can be changed and deleted"
        print(f"{source.source_id} is {'locked' if locked else 'unlocked'}: {means}.")
        note(given, waiting_line(waiting))


@contextmanager
def _writable(given: argparse.Namespace) -> Iterator[tuple[Catalog, Source]]:
    """The catalog, held for writing, and the source that is named."""
    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        catalog.source(given.id)  # what is not there need not be waited for
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        yield catalog, catalog.source(given.id)  # as it is now: another writer may have changed it while we waited


def edit(given: argparse.Namespace) -> None:
    from flows.restating import edit_source, index_new_titles
    from stages.statements import parse_facts

    at = chosen(given)
    changes = parse_facts(stated_facts(given))
    if not changes and given.superseded_by is None:
        raise UsageError("nothing to change; name an option, for example --class canon")
    with _writable(given) as (catalog, source):
        successor = _successor(catalog, source, given.superseded_by)
        restated = edit_source(catalog, source, changes)
        if successor != source.superseded_by:
            catalog.supersede(source.source_id, successor)
        if restated.facts.title != source.facts.title:
            index_new_titles(at)
    if given.always_include:
        from canonry.cli.indexing import warn_of_always

        warn_of_always(given, at)
    changed = proposals.differences(source.facts, restated.facts)
    changed |= {"superseded_by": (source.superseded_by, successor)} if successor != source.superseded_by else {}
    if given.json:
        edited = _source_json(Catalog.open(at.catalog).source(source.source_id), None)
        print_json({**edited, "changed": changes_json(changed), "proposal": restated.waiting})
    elif not given.quiet:
        for name, (old, new) in changed.items():
            print(printable(f"{plainly(name)}: {shown(old)} → {shown(new)}"))
        if restated.waiting:
            print(waiting_line([restated.waiting]))
        else:
            told = f"Changed {source.source_id}; the next query sees it so."
            print(told if changed else f"{source.source_id} is so already.")


def _successor(catalog: Catalog, source: Source, name: str | None) -> str | None:
    """The id of the source that is to hold in place of this one; refused of a locked source."""
    successor = source.superseded_by
    if name is not None:
        successor = None if name == "none" else catalog.source(name).source_id
    if source.locked and successor != source.superseded_by:
        raise CanonryError(
            f"source {source.source_id!r} is locked; `canonry source unlock {source.source_id}`, then say what supersedes it"
        )
    return successor


def delete(given: argparse.Namespace) -> None:
    from flows.removal import delete_source

    at = chosen(given)
    source = Catalog.open(at.catalog).source(given.id)
    confirm(f"Delete source {source.source_id!r} ({source.facts.title}) with all its versions?", yes=given.yes)
    with writing(at):
        delete_source(at, source.source_id)
    if given.json:
        print_json({"deleted": source.source_id})
    elif not given.quiet:
        print(f"Deleted {source.source_id}.")


def _secrecy(source: Source) -> str:
    parts = [f"level {source.facts.spoiler_level}" if source.facts.spoiler_level else "", *source.facts.spoiler_tags]
    parts += ["hidden" if source.facts.visibility == "hidden" else ""]
    return ", ".join(part for part in parts if part)


def _source_json(source: Source, chunks: int | None) -> dict[str, Any]:
    facts = source.facts
    return {
        "source_id": source.source_id, "campaign_id": source.campaign_id, "title": facts.title, "original_filename": source.original_filename,
        "original_path": source.original_path, "class": facts.class_, "enabled": source.enabled, "visibility": facts.visibility,
        "spoiler_level": facts.spoiler_level, "spoiler_tags": list(facts.spoiler_tags), "allowed_roles": list(facts.allowed_roles),
        "tags": list(facts.tags), "entities": list(facts.entities), "priority": facts.priority, "always_include": facts.always_include,
        "trust": facts.trust, "edition": facts.edition, "uri": facts.uri, "type": facts.source_type, "chapter": facts.chapter,
        "order": facts.order, "scope": facts.scope, "importance": facts.importance, "status": facts.status,
        "foreshadow_state": facts.foreshadow_state, "source_chapter": facts.source_chapter,
        "last_mention_chapter": facts.last_mention_chapter, "superseded_by": source.superseded_by,
        "locked": source.locked, "notes": facts.notes, "extra": json.loads(facts.extra),
        "source_version_id": source.version_id, "content_hash": source.content_hash, "file_size": source.file_size,
        "mime_type": source.mime_type, "encoding": source.encoding, "parser_version": source.parser_version,
        "chunking_version": source.chunking_version, "imported_at": source.imported_at, "updated_at": source.updated_at, "chunks": chunks,
    }  # fmt: skip


def _lifecycle(at: Layout, source: Source) -> dict[str, str]:
    """Each step of a source's way, and whether it has been taken."""
    rows = _chunk_rows(at, source.version_id) if at.lexical.exists() else []
    indexed = bool(_chunk_counts(at).get(source.version_id) is not None)
    return {
        "imported": f"{source.imported_at[:19]} UTC from {source.original_path}",
        "validated": f"{source.encoding}, validator {source.parser_version}",
        "classified": source.facts.class_,
        "chunked": plural(len(rows), "chunk") if indexed else "no; `canonry reindex` does it",
        "indexed": "yes" if indexed else "no; `canonry reindex` does it",
        "available": "yes" if indexed and source.enabled else "no, disabled" if indexed else "no",
    }


@contextmanager
def _index(at: Layout) -> Iterator[sqlite3.Connection]:
    """The lexical store; a damaged one in a line that says what to do."""
    if not at.lexical.exists():
        raise IndexMissing(f"campaign {at.campaign!r} has no index yet; `canonry reindex` makes it")
    with database.plain_errors(at.lexical, "`canonry reindex --full` builds the index anew"):
        db = database.open_reader(at.lexical)
        try:
            yield db
        finally:
            db.close()


def _chunk_counts(at: Layout) -> dict[str, int]:
    if not at.lexical.exists():
        return {}
    with _index(at) as db:
        return dict(db.execute("SELECT version_id, chunks FROM document"))


def _chunk_rows(at: Layout, version_id: str) -> list[tuple[Any, ...]]:
    with _index(at) as db:
        return db.execute(
            """
            SELECT c.chunk_id, c.chunk_index, c.start_byte, c.end_byte, c.start_line, c.end_line, c.heading_path,
                   c.page, c.token_count, r.spoiler_level, r.spoiler_tags, r.hidden
            FROM knowledge_chunk c JOIN run r ON r.first = (SELECT max(first) FROM run WHERE first <= c.row)
            WHERE c.version_id = ? ORDER BY c.chunk_index
            """,
            (version_id,),
        ).fetchall()


def _chunk_json(row: tuple[Any, ...], data: bytes) -> dict[str, Any]:
    return {
        "chunk_id": row[0], "chunk_index": row[1], "start_byte": row[2], "end_byte": row[3], "start_line": row[4], "end_line": row[5],
        "heading_path": json.loads(row[6]), "page": row[7], "token_count": row[8], "spoiler_level": row[9],
        "spoiler_tags": json.loads(row[10]), "hidden": bool(row[11]), "text": data[row[2] : row[3]].decode("utf-8"),
    }  # fmt: skip
