"""A scripted model on this machine: it speaks to the hosts, and never to the network."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Final, Self, cast

from tests.hosts.late_lines import await_written, transcripts_beside
from tests.hosts.scripts import Call, Step

SUMMARY: Final = "SUMMARY of the conversation so far"
MOST_REQUESTS: Final = 100
_DRY: Final = Step(text="done")
_COMPACT_MARKS: Final = (
    "create a detailed summary of the conversation",
    "CRITICAL: Respond with TEXT ONLY",
    "CONTEXT CHECKPOINT COMPACTION",
    "handoff summary for another LLM",
)
_PROCESS: Final = re.compile(r"running with session ID (\d+)")
_AGENT: Final = re.compile(r'\\"agent_id\\":\\"([0-9a-f-]+)')

Object = dict[str, object]


class Model:
    """Answers requests with the steps it was given, in order; when they run out it says that it is done.

    A request for a summary of the conversation is answered with one, and a request without tools with a
    title: neither takes a step.
    """

    def __init__(self) -> None:
        """Have nothing to say yet."""
        self._lock = Lock()
        self._steps: list[Step] = []
        self._count = 0
        self._ids = 0
        self.root = ""
        self._process = ""
        self._agent = ""
        self._written: set[str] = set()
        self.requests: list[Object] = []
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def left(self) -> int:
        """How many steps nobody has asked for."""
        return len(self._steps)

    def prepare(self, steps: Sequence[Step], root: str) -> None:
        """Have these steps to say, in a project that lies there."""
        with self._lock:
            self._steps = list(steps)
            self.root = root

    def answer(self, body: Object, raw: str) -> Step | None:
        """Give the step that answers a request; None when there were too many."""
        with self._lock:
            self._count += 1
            self.requests.append(body)
            self._process = (_PROCESS.findall(raw) or [""])[-1]
            self._agent = (_AGENT.findall(raw) or [""])[-1]
            if self._count > MOST_REQUESTS:
                return None
            if any(mark in _last_words(body) for mark in _COMPACT_MARKS):
                return Step(text=f"<summary>{SUMMARY}</summary>")
            if not body.get("tools"):
                return Step(text='{"title": "a title", "isNewTopic": false}')
            return self._take(raw)

    def _take(self, raw: str) -> Step:
        agents = {step.agent for step in self._steps if step.agent}
        asking = next((agent for agent in agents if _is_from(agent, raw)), "")
        for at, step in enumerate(self._steps):
            if step.agent == asking:
                return self._steps.pop(at)
        return _DRY

    def think(self, request: Object) -> None:
        """Take as long as Claude Code needs to write down what it asks; other hosts write at once."""
        await_written(request, transcripts_beside(self.root), self._written)

    def new_id(self, kind: str) -> str:
        """Make a name; they count, so that two recordings of a script are alike."""
        with self._lock:
            self._ids += 1
            return f"{kind}_{self._ids:016d}"

    def input_of(self, call: Call) -> str:
        """Write the input of a call, for this project and the process and agent that were last heard of."""
        text = call.input if isinstance(call.input, str) else json.dumps(call.input)
        return (
            text.replace("{root}", self.root)
            .replace('"{process}"', self._process)
            .replace("{agent}", self._agent)
        )


def _last_words(body: Object) -> str:
    """Give what the user said last, as text."""
    said = body.get("messages") or body.get("input") or []
    messages = cast("list[Object]", said) if isinstance(said, list) else []
    users = [one for one in messages if one.get("role") == "user"]
    return json.dumps(users[-1]) if users else str(said)


def _is_from(agent: str, raw: str) -> bool:
    """Say whether a request is a subagent's: its prompt, or what follows the date, begins with its name."""
    begins = (f'"text":"{agent}:', f'"text": "{agent}:', f'"content":"{agent}:', f"\\n\\n{agent}:")
    return any(one in raw for one in begins)


class _Server(ThreadingHTTPServer):
    """Listens for one model."""

    daemon_threads = True

    def __init__(self, model: Model) -> None:
        """Take any free port."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is inherited
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Answer that we are there."""
        self._send({})

    def do_GET(self) -> None:
        """List no models."""
        self._send({"data": [], "has_more": False, "first_id": None, "last_id": None, "models": []})

    def do_POST(self) -> None:
        """Answer with the next step."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": max(1, len(raw) // 4)})
            return
        answers = {"/v1/messages": _anthropic, "/v1/responses": _openai}
        body = _load(raw)
        step = self._model.answer(body, raw) if path in answers else None
        if step is None:
            self._send({"error": {"type": "invalid_request_error", "message": "not in the script"}}, 400)
            return
        if path == "/v1/messages":
            self._model.think(body)
        whole, events = answers[path](self._model, step, str(body.get("model", "")))
        if body.get("stream"):
            self._stream(events)
        else:
            self._send(whole)

    @property
    def _model(self) -> Model:
        return cast("_Server", self.server).model

    def _send(self, value: Object, code: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Sequence[Object]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True


def _load(raw: str) -> Object:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return cast("Object", value) if isinstance(value, dict) else {}


def _anthropic(model: Model, step: Step, name: str) -> tuple[Object, Sequence[Object]]:
    """Say a step in the Messages API of Anthropic."""
    blocks: list[Object] = [{"type": "text", "text": step.text}] if step.text else []
    for call in step.calls:
        value = json.loads(model.input_of(call))
        blocks.append({"type": "tool_use", "id": model.new_id("toolu"), "name": call.tool, "input": value})
    usage = {"input_tokens": step.tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message: Object = {
        "id": model.new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": blocks,
        "stop_reason": "tool_use" if step.calls else "end_turn",
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 20},
    }
    events: list[Object] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    ]
    for at, block in enumerate(blocks):
        empty, delta = _delta(block)
        events += (
            {"type": "content_block_start", "index": at, "content_block": empty},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        )
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += (
        {"type": "message_delta", "delta": ended, "usage": message["usage"]},
        {"type": "message_stop"},
    )
    return message, events


def _delta(block: Object) -> tuple[Object, Object]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _openai(model: Model, step: Step, name: str) -> tuple[Object, Sequence[Object]]:
    """Say a step in the Responses API of OpenAI."""
    items: list[Object] = []
    if step.text:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        items.append(
            {
                "type": "message",
                "id": model.new_id("msg"),
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    items += [_item(model, call) for call in step.calls]
    usage: Mapping[str, object] = {
        "input_tokens": step.tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": step.tokens + 20,
    }
    response: Object = {"id": model.new_id("resp"), "object": "response", "status": "completed"}
    whole: Object = {**response, "model": name, "output": items, "usage": usage}
    events: list[Object] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    ]
    for at, item in enumerate(items):
        begun = {**item, "content": []} if item["type"] == "message" else item
        events.append({"type": "response.output_item.added", "output_index": at, "item": begun})
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": at, "content_index": 0}
            events.append({"type": "response.output_text.delta", **place, "delta": step.text})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return whole, [*events, {"type": "response.completed", "response": whole}]


def _item(model: Model, call: Call) -> Object:
    ids = {"id": model.new_id("fc"), "call_id": model.new_id("call"), "name": call.tool}
    if isinstance(call.input, str):
        return {"type": "custom_tool_call", **ids, "input": model.input_of(call), "status": "completed"}
    named = {"namespace": call.namespace} if call.namespace else {}
    return {"type": "function_call", **ids, **named, "arguments": model.input_of(call)}


Answer = Callable[[Model, Step, str], tuple[Object, Sequence[Object]]]
