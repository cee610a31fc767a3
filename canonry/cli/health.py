"""`canonry verify` and `canonry doctor`: whether a campaign is what it was, and what could be better."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from canonry.cli.show import Bar, bold, chosen, dim, note, plural, print_json, printable
from canonry.errors import NotFound
from canonry.layout import Layout
from canonry.locking import undisturbed, writing

if TYPE_CHECKING:
    from flows.checks.findings import Finding
    from flows.verify import Health

_COUNTED = (("versions", "version"), ("chunks", "chunk"), ("rows", "indexed row"), ("vectors", "vector"))


def verify(given: argparse.Namespace) -> int:
    """Exit 0 where everything is what it was, 1 with findings."""
    from flows.verify import verify

    at = _existing(given)
    bar = Bar(given)
    try:
        with undisturbed(at):
            health = verify(at, bar)
    finally:
        bar.close()
    if given.json:
        findings = [found.as_json() for found in health.findings]
        print_json({"campaign_id": health.campaign_id, "checked": health.checked, "findings": findings})
    else:
        _print_findings(health.findings, show_text=False)
        if not given.quiet:
            _print_end(health, "is what it was" if not health.findings else plural(len(health.findings), "finding"))
        if any(found.fixable for found in health.findings):
            note(given, "`canonry doctor --fix` makes anew what is derived.")
    return 1 if health.findings else 0


def doctor(given: argparse.Namespace) -> int:
    """Exit 0 where there is nothing to say, 1 with findings that are there (still, after a repair)."""
    from flows.doctor import diagnose, repair

    at = _existing(given)
    bar = Bar(given)
    try:
        with writing(at) if given.fix else undisturbed(at):
            health = repair(at, bar) if given.fix else diagnose(at, bar)
    finally:
        bar.close()
    if given.json:
        _print_doctor_json(given, health)
    else:
        for found in health.fixed:
            print(f"{dim('fixed')} {printable(f'{found.code}: {found.where}: {found.what}')}")
        _print_findings(health.findings, show_text=given.show_text)
        if not given.quiet:
            problems = sum(found.severity == "problem" for found in health.findings)
            left = f"{plural(problems, 'problem')}, {plural(len(health.findings) - problems, 'piece')} of advice"
            fixed = f"{len(health.fixed)} fixed, " if given.fix else ""
            _print_end(health, f"{fixed}{left}" if health.findings or health.fixed else "nothing to say")
        if not given.fix and any(found.fixable for found in health.findings):
            note(given, "`canonry doctor --fix` mends what is derived; sources are never touched.")
    return 1 if health.findings else 0


def _existing(given: argparse.Namespace) -> Layout:
    at = chosen(given)
    if not at.raw.exists():
        raise NotFound(f"campaign {at.campaign!r} does not exist here; `canonry campaign list` shows what there is")
    return at


def _print_doctor_json(given: argparse.Namespace, health: Health) -> None:
    def shown(found: Finding) -> dict[str, object]:
        text = {"text": found.text} if given.show_text and found.text else {}
        return {**found.as_json(), "severity": found.severity, "fixable": found.fixable, **text}

    fixed = {"fixed": [found.as_json() for found in health.fixed]} if given.fix else {}
    findings = [shown(found) for found in health.findings]
    print_json({"campaign_id": health.campaign_id, "checked": health.checked, **fixed, "findings": findings})


def _print_findings(findings: Sequence[Finding], *, show_text: bool) -> None:
    for found in sorted(findings, key=lambda found: found.severity != "problem"):
        mark = bold("problem") if found.severity == "problem" else dim("advice")
        print(f"{mark} {_line(found)}")
        if show_text and found.text:
            print(f"    {printable(found.text)}")


def _line(found: Finding) -> str:
    """A finding in one line: code, where, what, what to do."""
    return printable(f"{found.code}: {found.where}: {found.what}; {found.do}").replace("\n", " ")


def _print_end(health: Health, verdict: str) -> None:
    counts = ", ".join(plural(health.checked.get(key, 0), noun) for key, noun in _COUNTED)
    print(f"{bold(health.campaign_id)}: {verdict}. Checked {counts}.")
