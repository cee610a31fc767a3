"""An optional judge: a small generative model grades what a search found, and the order follows its grades.

    answer -> the first 20 passages, framed as data -> /v1/chat/completions -> a grade for each -> the order

It is asked only where a question asks for it, about passages that the question may see anyway. What it can do is order
them: a reply that is not exactly one grade for each passage, that is late or does not come, leaves the order as it was,
and the answer says so. Equal grades keep the order of the search. The same passages are asked about in the same words, their
mark included: it comes from all of them, so that none of them can hold it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from canonry import frame
from canonry.config import JudgeSettings
from canonry.errors import JudgeError, UsageError
from canonry.servers.address import LookUp, by_system, judge_address, resolve
from canonry.tokens import count_tokens

if TYPE_CHECKING:
    from canonry.retrieval import Answer, Passage
    from canonry.servers.endpoint import Endpoint, Reply

MOST_PASSAGES = 20
NOT_JUDGED = "not judged, the order is that of the search"  # how `degraded` begins to say so
HIGHEST_GRADE = 3
CONTEXT_TOKENS = 4096  # what a request and its reply fit into
PASSAGE_TOKENS = 100
PLACE_TOKENS = 30  # of title and headings
QUESTION_TOKENS = 200
_REPLY_TOKENS = 16  # for each grade, white space included; a reply of more is cut by the server
_CONNECT_S = 2.0
_PATH = "/v1/chat/completions"
_TASK = f"""You grade how well passages answer a question. For each passage, give one grade:
3: it answers the question. 2: it answers a part of it. 1: it is about the same thing. 0: it has nothing to do with it.
Reply with one JSON object that has the label of every passage and its grade, such as {{"p1": 0, "p2": 3}}, and nothing else.

{frame.GUARD}"""


class Judge:
    """The model that the settings name. Keeps its connection; nothing is sent before `grade`."""

    def __init__(self, settings: JudgeSettings, *, look_up: LookUp = by_system) -> None:
        """UsageError where the settings name none."""
        if not settings.url:
            raise UsageError(
                "this campaign has no judge: `canonry campaign settings ID --set judge.url=http://127.0.0.1:8080` names "
                "a server of /v1/chat/completions"
            )
        self.settings = settings
        self._look_up = look_up
        self._endpoint: Endpoint | None = None

    @property
    def name(self) -> str:
        """The judge, as a reason names it."""
        return self.settings.model or self.settings.url

    def grade(self, question: str, passages: Sequence[Passage]) -> tuple[int, ...]:
        """A grade from 0 to HIGHEST_GRADE for each passage, in order; JudgeError where there is not one for each."""
        from canonry.servers.endpoint import Endpoint, Patience

        if self._endpoint is None:
            address = judge_address(self.settings.url, self.settings.model)
            ips = resolve(address, allow_remote=self.settings.allow_remote, look_up=self._look_up)
            self._endpoint = Endpoint(address, ips)
        patience = Patience(_CONNECT_S, self.settings.timeout, retries=0)
        reply = self._endpoint.ask(_PATH, _request(self.settings.model, question, passages), patience)
        return read_grades(_content(reply, self.settings.url), len(passages), self.settings.url)

    def close(self) -> None:
        """Let the connection go."""
        if self._endpoint is not None:
            self._endpoint.close()


def judged(answer: Answer, judge: Judge, limit: int) -> Answer:
    """The answer, cut to `limit`, with its first passages by grade; as it was, and `degraded`, where they got none."""
    head, rest = answer.results[:MOST_PASSAGES], answer.results[MOST_PASSAGES:]
    if len(head) < 2:
        return replace(answer, results=answer.results[:limit])
    try:
        grades = judge.grade(answer.query, head)
    except JudgeError as error:
        told = (answer.degraded, f"{NOT_JUDGED}: {error}")
        return replace(answer, degraded="; ".join(filter(None, told)), results=answer.results[:limit])
    order = sorted(range(len(head)), key=lambda at: (-grades[at], at))
    ordered = [_with_grade(head[at], grades[at], at + 1, judge.name) for at in order]
    return replace(answer, results=[*ordered, *rest][:limit])


def _with_grade(passage: Passage, grade: int, place: int, judge: str) -> Passage:
    reason = f"is graded {grade} of {HIGHEST_GRADE} by the judge {judge} (place {place} before)"
    explain = passage.explain if passage.explain is None else {**passage.explain, "grade": grade}
    return replace(passage, reasons=[*passage.reasons, reason], explain=explain)


def _request(model: str, question: str, passages: Sequence[Passage]) -> dict[str, object]:
    labels = _labels(len(passages))
    grades = {"type": "integer", "enum": list(range(HIGHEST_GRADE + 1))}
    schema = {
        "type": "object",
        "properties": dict.fromkeys(labels, grades),
        "required": labels,
        "additionalProperties": False,
    }
    mark = frame.derived_mark("judge", "\0".join([question, *(passage.exact_text for passage in passages)]))
    framed = [f"{label}:\n{_framed(passage, mark)}" for label, passage in zip(labels, passages, strict=True)]
    asked = json.dumps(_start(" ".join(question.split()), QUESTION_TOKENS), ensure_ascii=False)
    return {
        **({"model": model} if model else {}),
        "messages": [
            {"role": "system", "content": _TASK},
            {"role": "user", "content": f"{''.join(framed)}\nThe question: {asked}\n"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "grades", "strict": True, "schema": schema},
        },
        "temperature": 0,
        "seed": 0,
        "max_tokens": _REPLY_TOKENS * (1 + len(labels)),
        "stream": False,
    }


def _framed(passage: Passage, mark: str) -> str:
    place = _start(" > ".join(frame.place(passage.title, passage.heading_path)), PLACE_TOKENS)
    return frame.frame(passage.class_, [place], _start(passage.exact_text, PASSAGE_TOKENS), mark)


def _labels(count: int) -> list[str]:
    return [f"p{number}" for number in range(1, count + 1)]


def _start(text: str, most: int) -> str:
    """The beginning of a text, in at most `most` tokens."""
    text = text[: most * 16]  # a longer one is counted for nothing
    while (tokens := count_tokens(text)) > most:
        text = text[: max(1, len(text) * most // tokens - 1)]
    return text


def _content(reply: Reply, url: str) -> str:
    """What the model wrote, or the error that the reply is."""
    from canonry.servers.address import JUDGING
    from canonry.servers.endpoint import says_too_long

    if reply.status != 200:
        advice = {401: f"put its key into the environment as {JUDGING.key}", 404: "check judge.url and judge.model"}
        told = advice.get(reply.status, "look into the server's log")
        if says_too_long(reply):
            told = f"serve it with a context of at least {CONTEXT_TOKENS:,} tokens"
        raise JudgeError(f"{url} answered {reply.status} {reply.text}; {told}")
    try:
        content = reply.content["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        content = None
    if not isinstance(content, str):
        raise _refused(url, "a reply without a message")
    return content


def read_grades(text: str, count: int, url: str) -> tuple[int, ...]:
    """The grades in a model's text, in the order of the passages; JudgeError unless it has exactly one for each."""
    try:
        said: Any = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise _refused(url, f"text that is no JSON object with each label once ({error})") from error
    labels = _labels(count)
    if not isinstance(said, dict) or said.keys() != set(labels):
        raise _refused(url, f"other labels than those of the {count} passages")
    grades = tuple(said[label] for label in labels)
    if any(type(grade) is not int or not 0 <= grade <= HIGHEST_GRADE for grade in grades):
        raise _refused(url, f"a grade that is no whole number from 0 to {HIGHEST_GRADE}")
    return grades


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a label stands twice")
    return dict(pairs)


def _refused(url: str, what: str) -> JudgeError:
    return JudgeError(f"the judge at {url} answered with {what}; nothing of it was used")
