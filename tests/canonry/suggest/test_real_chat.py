"""IT-CTX-03: a confirmed context goes to a real chat server whole, as it was kept. Run by `make test-servers`."""

from __future__ import annotations

from typing import Any

import httpx

from canonry.eligibility import Scope
from canonry.locking import writing
from canonry.suggest.binding import Binding
from canonry.suggest.payload import build_context, show_context, store_context
from canonry.suggest.suggestions import Situation
from flows.removal import delete_source
from tests.canonry.suggest.conftest import Story
from tests.llama_server import CHAT_PACKAGES, chat_model, llama_server, servers_only

pytestmark = servers_only(CHAT_PACKAGES)


def chat(address: str, system: str) -> dict[str, Any]:
    """A reply to the same question under a system message."""
    reply = httpx.post(
        f"{address}/v1/chat/completions",
        json={
            "model": "smollm2", "max_tokens": 24, "temperature": 0,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Suggest a plot for the next chapter."}],
        },
        timeout=240,
    )  # fmt: skip
    reply.raise_for_status()
    found: dict[str, Any] = reply.json()
    return found


def test_it_ctx_03_plots_are_suggested_under_the_whole_prompt_that_was_confirmed(story: Story) -> None:
    story.entry("Kael", "Keeper of the north lamp, who never sleeps. " * 8)
    story.entry("The old lamp", "It has not gone out in forty years. " * 8, type="foreshadow")
    binding = Binding.of(knowledge=[story["Kael"], story["The old lamp"]])
    context = build_context(story.workshop.ask(story.at), binding, Scope(), Situation("3", "the lamp"))
    context_id = store_context(story.at, context)
    with writing(story.at):
        delete_source(story.at, story["Kael"])
    kept = show_context(story.at, context_id, Scope()).payload["systemPrompt"]
    assert kept == context.system_prompt
    with llama_server(chat_model(), "chat") as address:
        whole, none = chat(address, str(kept)), chat(address, "Answer.")
    assert whole["choices"][0]["message"]["content"].strip()
    read = whole["usage"]["prompt_tokens"] - none["usage"]["prompt_tokens"]
    assert read > len(context.system_prompt) / 8  # English has 4 to 5 characters a token: nothing was cut away
