"""A real llama.cpp server as the judge: run by `make test-servers`, which installs it."""

from __future__ import annotations

from tests.conftest import Workshop
from tests.llama_server import CHAT_PACKAGES, chat_model, llama_server, servers_only

pytestmark = servers_only(CHAT_PACKAGES)


def test_a_model_of_135_million_weights_grades_each_passage_and_the_same_way_again(workshop: Workshop) -> None:
    """Whether its grades are any good is for an evaluation to say; that each passage has one is what its schema is for."""
    with llama_server(chat_model(), "chat") as address:
        at = workshop.create(judge_url=address, judge_model="smollm2", judge_timeout="120")
        for text in ("A lamp of brass hangs here.", "The lamp burns whale oil.", "A lamp goes out at noon."):
            workshop.bring(at, workshop.write(f"{text[2:6].strip()}{len(text)}.md", text))
        campaign = workshop.ask(at)
        plain = campaign.retrieve("what does the lamp burn?")
        first, second = (campaign.retrieve("what does the lamp burn?", judge=True) for _ in range(2))
    assert (first.degraded, len(first.results)) == (None, 3)
    assert {passage.chunk_id for passage in first.results} == {passage.chunk_id for passage in plain.results}
    assert all("by the judge smollm2" in passage.reasons[-1] for passage in first.results)
    assert first.results == second.results
    assert "not judged" in str(campaign.retrieve("what does the lamp burn?", judge=True).degraded)  # it is gone
