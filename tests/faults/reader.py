"""A process that asks without end, to run beside a writer: python reader.py DATA KNOWN STOP

KNOWN is a JSON file: question name -> the lists of [chunk, text] that are right. Until the file STOP is there it asks every
question, now with a campaign that it keeps open, now with a fresh one, and then prints one JSON document: how often it
asked, and the first answers that were none of the known ones, each with what it was.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import canonry
from canonry.embedders import register
from tests.fakes import WordBag
from tests.faults.state import QUESTIONS, ask, said

MOST_WRONG = 3


def read(data: Path, known: dict[str, list[Any]], stop: Path) -> dict[str, Any]:
    """Ask until told to stop."""
    asked, wrong = 0, []
    kept = canonry.open(data).campaign("vell")
    while not stop.exists() and len(wrong) < MOST_WRONG:
        with canonry.open(data).campaign("vell") as fresh:
            for name, right in known.items():
                for campaign in (kept, fresh):
                    asked += 1
                    try:
                        answer = ask(campaign, QUESTIONS[name])
                    except Exception as error:  # whatever it is: it is what the test is about
                        wrong.append({"question": name, "error": repr(error)})
                        continue
                    if said(answer) not in right or answer["degraded"]:
                        wrong.append({"question": name, "degraded": answer["degraded"], "found": said(answer)})
    kept.close()
    return {"asked": asked, "wrong": wrong}


if __name__ == "__main__":
    register(WordBag())
    data, known, stop = map(Path, sys.argv[1:4])
    print("reading", flush=True)
    print(json.dumps(read(data, json.loads(known.read_text()), stop)))
