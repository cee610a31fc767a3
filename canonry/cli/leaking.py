"""`canonry eval leaks`"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from canonry.catalog import Catalog
from canonry.cli.show import Bar, bold, chosen, colour, dim, note, plural, print_json, printable, table
from canonry.config import MODES, Settings

if TYPE_CHECKING:
    from eval.leaks import Leak, LeakReport
    from eval.open_names import OpenName

DEGRADED = 3
MOST_SHOWN = 20


def leaks(given: argparse.Namespace) -> int:
    """Exit 0 without a leak, 1 with one, 3 where a mode could not search at all."""
    from eval.leaks import Wanted
    from flows import leaks as flow

    at = chosen(given)
    catalog = Catalog.open(at.catalog)
    embedder = Settings.parse(catalog.settings()).embedder
    catalog.close()
    modes = given.modes or (MODES if embedder != "none" else ("lexical",))
    wanted = Wanted(given.levels, given.roles, modes, given.max_chunks, given.seed)
    bar = Bar(given)
    try:
        found = (flow.in_process if given.in_process else flow.run)(at, wanted, given.report, bar)
    finally:
        bar.close()
    if given.json:
        print_json(found.as_json())
    else:
        _print(given, found)
    return 1 if found.leaks else DEGRADED if found.is_degraded else 0


def _print(given: argparse.Namespace, found: LeakReport) -> None:
    counts = found.counts
    rows = [(asker, row["allowed"], row["forbidden"], row["asked for"]) for asker, row in found.askers.items()]
    if rows:
        print(table(("asked as", "sees", "kept from him", "asked for"), rows, right=(1, 2, 3)))
    else:
        print("Nothing is kept from these askers.")
    print(
        f"{plural(counts['questions'], 'question')} by {', '.join(found.wanted.modes)} showed {plural(counts['passages shown'], 'passage')}; "
        f"{plural(counts['packs'], 'pack')} held {counts['passages in packs']:,}. "
        f"{counts['why'] + counts['pin']:,} times a secret passage was asked for by its id."
    )
    if counts["secret passages asked for"] < counts["secret passages"]:
        note(
            given,
            f"{counts['secret passages asked for']} of {plural(counts['secret passages'], 'secret passage')} were tried "
            f"(seed {found.wanted.seed}); --max-chunks all tries every one.",
        )
    for mode, count in found.degraded.items():
        if count:
            note(given, f"{mode}: for {plural(count, 'question')} less was searched than was asked for")
    _print_leaks(found.leaks)
    _print_names(given, found.names)
    if given.report:
        note(given, f"The report is in {given.report}; it quotes secrets.")


def _print_leaks(leaks: Sequence[Leak]) -> None:
    if not leaks:
        print(bold("No leak."))
        return
    print(colour(f"{plural(len(leaks), 'leak')}:", "31"))
    for leak in leaks[:MOST_SHOWN]:
        secret = leak.secret
        place = f"{secret.source_id} line {secret.line}"
        print(printable(f"  {leak.asker}, {leak.mode}, {leak.where}: {secret.what} of {place}, asked {leak.query!r}"))
    if len(leaks) > MOST_SHOWN:
        print(f"  and {len(leaks) - MOST_SHOWN:,} more; --report DIR or --json has them all")


def _print_names(given: argparse.Namespace, names: Sequence[OpenName]) -> None:
    if not names:
        return
    print(f"\n{bold('Secret names in sight')} {dim('(no leaks of search: the passages say them)')}")
    rows = [
        (one.name, f"{one.kind} of {one.source_id} line {one.line}", one.asker, one.passages, one.places[0])
        for one in names[:MOST_SHOWN]
    ]
    print(table(("name", "of", "met by", "passages", "the first"), rows, right=(3,)))
    if len(names) > MOST_SHOWN:
        note(given, f"and {len(names) - MOST_SHOWN:,} more; --report DIR or --json has them all")
