"""A session driven by a real llama.cpp server: run by `make test-servers`, which installs it.

A model of 135 million weights selects nothing of sense. What holds is the contract: it is asked again in JSON where it
chats, what the server keeps to a schema is never refused, and the session can be gone on with.
"""

from __future__ import annotations

import json

from canonry.contexts.journal import open_journal
from canonry.contexts.local_model import drive_by_model, open_model
from canonry.contexts.session import begin, resume
from canonry.contexts.task import Task
from canonry.eligibility import Scope
from canonry.layout import Layout
from tests.conftest import Workshop
from tests.llama_server import CHAT_PACKAGES, chat_model, llama_server, servers_only

pytestmark = servers_only(CHAT_PACKAGES)


def test_a_small_model_drives_a_session_by_calls_that_are_never_refused(workshop: Workshop, at: Layout) -> None:
    task = Task("Write the scene at the gate.", Scope("writer"), searches=("lexical",), calls=3)
    with llama_server(chat_model(), "chat") as address, open_journal(at, make=True) as journal:
        session = begin(journal, workshop.ask(at), task)
        endpoint = open_model(f"openai:smollm2@{address}")
        drive_by_model(session, endpoint)
        endpoint.close()
        events = journal.events(session.session_id)
        again, _ = resume(journal, workshop.ask(at), session.session_id)
        assert again.state == session.state
    refused = [event for event in events if event.kind == "refused"]
    called = [event for event in events if event.kind in ("search", "fetch", "select", "stop")]
    assert len(refused) <= 1, refused  # chat where tools were offered
    assert called, [json.dumps(event.as_json()) for event in events]
