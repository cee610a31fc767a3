"""`canonry export` and `canonry restore`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from shlex import quote

from canonry.archive import Limits, Manifest
from canonry.cli.indexing import DEGRADED, print_vectors
from canonry.cli.show import Bar, bold, chosen, note, plural, print_json, size
from canonry.layout import Layout


def export(given: argparse.Namespace) -> None:
    from canonry.export import export_campaign

    at = chosen(given)
    bar = Bar(given)
    try:
        exported = export_campaign(
            at, given.file, with_embeddings=given.with_embeddings, replace=given.force, progress=bar
        )
    finally:
        bar.close()
    needs = exported.needs(Limits())
    if given.json:
        print_json({
            "file": str(given.file), "bytes": exported.file_bytes, **_as_json(exported.manifest), "restore_needs": needs,
        })  # fmt: skip
    elif not given.quiet:
        print(
            f"Exported campaign {bold(at.campaign)} to {given.file} ({size(exported.file_bytes)}): {_counts(exported.manifest)}."
        )
        print(f"Bring it back anywhere: canonry restore {' '.join([quote(str(given.file)), *needs])}")
    note(given, "It holds hidden texts and every spoiler: it is for you, not for players.")


def restore(given: argparse.Namespace) -> int:
    from flows.restore import restore as restore_export

    def tell(manifest: Manifest, at: Layout) -> None:
        if not given.json and not given.quiet:
            bar.close()
            print(f"Restored campaign {bold(at.campaign)} from {given.file}: {_counts(manifest)}.", flush=True)

    bar = Bar(given)
    limits = Limits(given.max_bytes, given.max_members)
    try:
        done = restore_export(
            given.file, given.data, campaign=given.as_, limits=limits, with_index=not given.no_index, progress=bar, restored=tell,
        )  # fmt: skip
    finally:
        bar.close()
    if given.json:
        index = done.index.as_json() if done.index else None
        print_json(
            {
                **_as_json(done.manifest),
                "campaign_id": done.at.campaign,
                "exported_as": done.manifest.campaign_id,
                "index": index,
            }
        )
    elif done.index is None:
        note(given, f"Not indexed yet: canonry reindex -c {done.at.campaign}")
    elif not given.quiet:
        print(f"{plural(done.index.rows, 'chunk')} can be found by words.")
        print_vectors(done.index)
    for line in done.remarks:
        note(given, line)
    return DEGRADED if done.index and done.index.degraded else 0


def _counts(manifest: Manifest) -> str:
    rows = manifest.rows
    counts = [
        plural(rows["knowledge_source"], "source"), plural(rows["knowledge_source_version"], "version"),
        plural(rows["knowledge_retrieval_record"], "past pack"),
    ]  # fmt: skip
    told = manifest.session_rows
    counts += [plural(told[table], table) for table in ("session", "note") if told.get(table)]
    models = ", ".join(made.model for made in manifest.embeddings)
    return ", ".join(counts) + (f", vectors by {models}" if models else "")


def _as_json(manifest: Manifest) -> dict[str, object]:
    return {
        "campaign_id": manifest.campaign_id, "created_at": manifest.created_at, "canonry": manifest.canonry,
        "catalog_version": manifest.catalog_version, "rows": dict(manifest.rows), "members": len(manifest.members),
        "member_bytes": manifest.total_bytes,
        "embeddings": [asdict(made) for made in manifest.embeddings],
    }  # fmt: skip
