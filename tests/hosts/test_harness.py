"""The harness itself: the scripted model speaks as the real ones do, and recordings are clean."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.hosts import model as models
from tests.hosts.drivers import find_program
from tests.hosts.model import SUMMARY, Model
from tests.hosts.recorder import clean
from tests.hosts.scripts import Call, Leaves, Step, list_scripts, parse_script, read_script

TOOLS = [{"name": "Bash"}]
HELLO = [{"role": "user", "content": "hello"}]


def ask(model: Model, path: str, **body: object) -> Any:  # JSON of any shape
    """Send a request, and give the answer: JSON, or the events of a stream."""
    request = urllib.request.Request(  # noqa: S310 - to this machine
        model.address + path, data=json.dumps(body).encode(), headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - as above
        text = answer.read().decode()
    if not body.get("stream"):
        return json.loads(text)
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def test_the_model_says_its_steps_in_order_and_then_that_it_is_done() -> None:
    calls = (Call(tool="Read", input={"file_path": "{root}/a"}), Call(tool="Bash", input={"command": "ls"}))
    with Model() as model:
        model.prepare([Step(text="one", calls=calls, tokens=7), Step(text="two")], "/there")
        first = ask(model, "/v1/messages?beta=true", messages=HELLO, tools=TOOLS)
        left = model.left
        second = ask(model, "/v1/messages", messages=HELLO, tools=TOOLS)
        third = ask(model, "/v1/messages", messages=HELLO, tools=TOOLS)

    text, read, ran = first["content"]
    assert (text["text"], read["input"], ran["name"]) == ("one", {"file_path": "/there/a"}, "Bash")
    assert read["id"] != ran["id"]
    assert (first["stop_reason"], first["usage"]["input_tokens"], left) == ("tool_use", 7, 1)
    assert (second["content"][0]["text"], second["stop_reason"]) == ("two", "end_turn")
    assert third["content"][0]["text"] == "done"


def test_a_stream_says_what_a_whole_answer_does() -> None:
    step = Step(text="one", calls=(Call(tool="exec_command", input={"cmd": "ls"}),))
    patch = Step(calls=(Call(tool="apply_patch", input="*** Begin Patch"),))
    with Model() as model:
        model.prepare([step, step, patch], "/there")
        claude = ask(model, "/v1/messages", messages=HELLO, tools=TOOLS, stream=True)
        codex = ask(model, "/v1/responses", input=HELLO, tools=TOOLS, stream=True)
        patched = ask(model, "/v1/responses", input=HELLO, tools=TOOLS)

    deltas = [event["delta"] for event in claude if event["type"] == "content_block_delta"]
    assert [delta["type"] for delta in deltas] == ["text_delta", "input_json_delta"]
    assert json.loads(deltas[1]["partial_json"]) == {"cmd": "ls"}
    assert (claude[0]["type"], claude[-1]["type"]) == ("message_start", "message_stop")
    items = [event["item"] for event in codex if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["message", "function_call"]
    assert codex[-1]["response"]["output"] == items
    assert patched["output"][0]["type"] == "custom_tool_call"


def test_summaries_and_titles_take_no_step() -> None:
    compact = [{"role": "user", "content": "CRITICAL: Respond with TEXT ONLY"}]
    with Model() as model:
        model.prepare([Step(text="one")], "/there")
        summary = ask(model, "/v1/messages", messages=compact, tools=TOOLS)
        title = ask(model, "/v1/messages", messages=HELLO)
        counted = ask(model, "/v1/messages/count_tokens", messages=HELLO)
        left = model.left

    assert SUMMARY in summary["content"][0]["text"]
    assert "title" in title["content"][0]["text"]
    assert counted["input_tokens"] > 0
    assert left == 1


def test_a_subagent_is_answered_with_its_own_steps() -> None:
    texts = ("WRITER: write.", "<date>today</date>\n\nWRITER: write.")
    for text in texts:
        child = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        with Model() as model:
            model.prepare([Step(text="one", agent="WRITER"), Step(text="two")], "/there")
            main = ask(model, "/v1/messages", messages=HELLO, tools=TOOLS)
            other = ask(model, "/v1/messages", messages=child, tools=TOOLS)

        assert (main["content"][0]["text"], other["content"][0]["text"]) == ("two", "one")


def test_a_call_can_name_the_process_and_agent_that_were_last_heard_of() -> None:
    call = Call(tool="write_stdin", input={"session_id": "{process}", "target": "{agent}"})
    heard = [{"role": "user", "content": 'running with session ID 42 {"agent_id":"0a-1b"}'}]
    with Model() as model:
        model.prepare([Step(calls=(call,))], "/there")
        answer = ask(model, "/v1/responses", input=heard, tools=TOOLS)

    assert json.loads(answer["output"][0]["arguments"]) == {"session_id": 42, "target": "0a-1b"}


def test_a_loop_without_end_and_a_path_that_nobody_knows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MOST_REQUESTS", 0)
    with Model() as model:
        for path in ("/v1/messages", "/v1/other"):
            with pytest.raises(urllib.error.HTTPError, match="400") as found:
                ask(model, path, messages=HELLO, tools=TOOLS)
            found.value.close()


def test_every_script_can_be_read_and_every_call_names_what_it_leaves() -> None:
    for path in list_scripts():
        script = read_script(path)
        assert path.name == f"{script.host}-{script.name}.script.json"
        assert any(one != Leaves() for one in script.leaves())


def test_a_script_with_a_word_that_nobody_knows_is_refused() -> None:
    call = {"tool": "x", "input": {}, "leaves": {"edits": ["a"]}}
    with pytest.raises(TypeError, match="edits"):
        parse_script({"host": "h", "name": "n", "turns": [{"prompt": "p", "steps": [{"calls": [call]}]}]})


def test_a_recording_says_nothing_about_the_machine_and_little_of_the_hosts_own_words() -> None:
    own = json.dumps({"type": "attachment", "rendered": ["x" * 1000], "cwd": "/home/me/project"})
    said = json.dumps({"type": "user", "text": "y" * 1000, "cwd": "/home/me/project"})

    text = clean(f"{own}\n{said}\nno json\n", {"/home/me/project": "/project"})

    assert "/home/me" not in text
    assert "y" * 1000 in text
    assert "x" * 300 not in text
    assert text.endswith("no json\n")


def test_programs_are_looked_for_where_the_environment_says() -> None:
    assert find_program("codex", {}) == "codex"
    assert find_program("codex", {"PASSDOWN_HOSTS": "/opt/hosts"}).replace("\\", "/") == "/opt/hosts/codex"
