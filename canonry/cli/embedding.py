"""`canonry embed …`: the model behind search by meaning, and the vectors that it made."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from canonry.catalog import Catalog
from canonry.cli.indexing import bring_up_to_date, set_embedder
from canonry.cli.show import bold, chosen, confirm, plural, print_json, printable, size, table
from canonry.config import EmbedSettings
from canonry.embedders import NO_EMBEDDER, Embedder, load
from canonry.errors import UsageError
from canonry.locking import writing
from canonry.servers.address import is_served

if TYPE_CHECKING:
    from canonry.embedders.trial import Trial
    from flows.vector_sets import VectorSet


def status(given: argparse.Namespace) -> int:
    from flows.plan import campaign_settings
    from flows.vector_sets import list_sets

    at = chosen(given)
    spec, sets = campaign_settings(at).embedder, list_sets(at)
    if given.json:
        print_json({"campaign_id": at.campaign, "embedder": spec, "sets": [one.as_json() for one in sets]})
        return 0
    print(f"{bold(at.campaign)}: embedder {spec}" + ("; search is by words" if spec == NO_EMBEDDER else ""))
    if not sets:
        print("No vectors yet; `canonry reindex` makes them." if spec != NO_EMBEDDER else "No vectors on disk.")
        return 0
    rows = [
        (one.spec, one.fingerprint, f"{one.vectors:,}", size(one.bytes), _missing(one), _use(one, spec)) for one in sets
    ]
    print(table(("embedder", "fingerprint", "vectors", "on disk", "texts without", "state"), rows, right=(2, 3, 4)))
    return 0


def _missing(one: VectorSet) -> str:
    return f"{one.missing:,}" if one.missing else "none"


def _use(one: VectorSet, spec: str) -> str:
    if one.live:
        return "in use" if one.chosen else "in the index, not asked" if spec == NO_EMBEDDER else "in use for now"
    if one.chosen:
        return "complete; `canonry reindex` puts it to use" if one.complete else "in the making"
    return "kept"


def use(given: argparse.Namespace) -> int:
    from flows.plan import campaign_settings

    at = chosen(given)
    Catalog.open(at.catalog).close()
    if given.spec != NO_EMBEDDER:
        _loaded(given.spec, campaign_settings(at).embed).embed_query(
            "lamp"
        )  # a model that does not answer is not chosen
    changed = set_embedder(at, given.spec)
    if not given.quiet and not given.json:
        print(f"The campaign {'is set to' if changed else 'uses'} {given.spec}{'' if changed else ' already'}.")
    if given.later or given.spec == NO_EMBEDDER:
        if given.json:
            print_json({"embedder": given.spec, "changed": changed})
        elif given.later and not given.quiet:
            print("`canonry reindex` makes its vectors; questions are asked of those that are there until then.")
        return 0
    return bring_up_to_date(given, at, in_process=True)


def purge(given: argparse.Namespace) -> None:
    from flows.vector_sets import find_removable, remove

    at = chosen(given)
    doomed = find_removable(at, given.spec)
    count, bytes_ = sum(one.vectors for one in doomed), sum(one.bytes for one in doomed)
    what = f"{plural(count, 'vector')} of {' and '.join(one.fingerprint for one in doomed)} ({size(bytes_)})"
    confirm(f"Remove {printable(what)}? They can be made again.", yes=given.yes)
    with writing(at):
        doomed = find_removable(at, given.spec)
        for one in doomed:
            remove(at, one)
    if given.json:
        print_json({"removed": [one.fingerprint for one in doomed], "vectors": count, "bytes": bytes_})
    elif not given.quiet:
        print(f"Removed {printable(what)}.")


def test(given: argparse.Namespace) -> int:
    from canonry.embedders.trial import try_out

    started = time.perf_counter()
    embedder = _loaded(given.spec, EmbedSettings())
    load_s = time.perf_counter() - started
    trial = try_out(embedder)
    if given.json:
        samples = [{**asdict(sample), "sound": sample.is_sound} for sample in trial.samples]
        print_json({
            "embedder": embedder.spec, "fingerprint": embedder.fingerprint, "dimensions": embedder.dimensions,
            "max_tokens": embedder.max_tokens, "scripts": sorted(embedder.scripts), "minimum_cosine": embedder.minimum_cosine,
            "load_s": load_s, "question_s": trial.question_s, "passage_s": trial.passage_s,
            "samples": samples, "not_known": list(trial.unknown), "sound": not trial.unsound,
        })  # fmt: skip
    else:
        _print_trial(embedder, trial, load_s)
    if trial.unsound:
        print(
            f"canonry: {printable(embedder.spec)} does not put a paraphrase before something unrelated in "
            f"{' and '.join(trial.unsound)}; choose another embedder for such texts",
            file=sys.stderr,
        )
    return 1 if trial.unsound else 0


def _print_trial(embedder: Embedder, trial: Trial, load_s: float) -> None:
    print(
        f"{bold(printable(embedder.spec))} answers: {embedder.dimensions} dimensions, windows of {embedder.max_tokens:,} "
        f"tokens, fingerprint {printable(embedder.fingerprint)}"
    )
    print(
        f"Ready in {load_s:.2f} s; a question takes {1000 * trial.question_s:.1f} ms, "
        f"a passage of two lines {1000 * trial.passage_s:.1f} ms."
    )
    for sample in trial.samples:
        verdict = "nearer, as it should be" if sample.is_sound else "NOT nearer"
        if not sample.is_told_apart:
            verdict = "the model does NOT tell them apart"
        print(f"{sample.language}: a paraphrase {sample.paraphrase:.2f}, unrelated {sample.unrelated:.2f}: {verdict}")
    for language in trial.unknown:
        print(f"{language}: not a script of this model; such texts stay findable by words")


def _loaded(spec: str, settings: EmbedSettings) -> Embedder:
    """The embedder, asked what it is where a server has it."""
    facts = None
    if is_served(spec):
        from canonry.embedders.served import learn

        facts = learn(spec, settings)
    embedder = load(spec, settings, facts)
    if embedder is None:
        raise UsageError(f"{spec!r} stands for no embedder: there is nothing to test")
    return embedder
