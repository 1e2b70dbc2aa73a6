"""Transcripts are read in pieces, and no line is too strange to be passed over."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts import transcripts
from passdown.core.hosts.transcripts import (
    MAX_MARK,
    MAX_PLAN,
    MAX_WAITING,
    START,
    Observation,
    ToolCall,
    TranscriptCollector,
    TranscriptMark,
    TranscriptReader,
    TranscriptReading,
    parse_mark,
    read_piece,
    render_mark,
)
from passdown.core.kinds import FactKind
from passdown.hosts.claude.transcripts import READER as CLAUDE_CODE
from passdown.hosts.codex.transcripts import READER as CODEX
from passdown.hosts.copilot.transcripts import READER as COPILOT

TONGUES = (CLAUDE_CODE, CODEX, COPILOT)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

Line = dict[str, Any]


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)


def told(reading: TranscriptReading) -> list[tuple[str, str, int | None]]:
    return [(one.kind.value, one.text, one.exit) for one in reading.seen]


# --- Claude Code ----------------------------------------------------------------------------------


def use(name: str, tool: str, **given_: object) -> Line:
    block = {"type": "tool_use", "id": name, "name": tool, "input": given_}
    return {"parentUuid": None, "type": "assistant", "cwd": "/p", "message": {"content": [block]}}


def result(name: str, text: object, *, is_error: bool = False, **data: object) -> Line:
    block = {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": is_error}
    return {"parentUuid": None, "type": "user", "message": {"content": [block]}, "toolUseResult": data}


def prompt(text: object, **more: object) -> Line:
    return {"parentUuid": None, "type": "user", "uuid": "u", "message": {"content": text}, **more}


def test_results_are_matched_to_calls_by_their_ids() -> None:
    reading = read_piece(
        CLAUDE_CODE,
        lines(
            use("a", "Write", file_path="one.md"),
            use("b", "MultiEdit", file_path="/p/two.md"),
            use("c", "Bash", command="pytest"),
            result("c", "Exit code 3\nF", is_error=True),
            result("b", "ok"),
            result("a", "ok"),
            result("a", "again"),
        ),
    )

    assert told(reading) == [
        ("command", "pytest", 3),
        ("test", "pytest", 3),
        ("file", "/p/two.md", None),
        ("file", "/p/one.md", None),
    ]
    assert reading.mark.waiting == ()


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (result("c", "ok"), [("command", "make", 0)]),
        (result("c", [{"type": "text", "text": "Exit code 2\nx"}], is_error=True), [("command", "make", 2)]),
        (result("c", "<tool_use_error>denied</tool_use_error>", is_error=True), []),
        (result("c", "", interrupted=True), [("command", "make", None)]),
        (result("c", "", returnCodeInterpretation="No matches found"), [("command", "make", 1)]),
        (result("c", "", backgroundTaskId="b"), []),
        (
            result("c", "", gitOperation={"commit": {"sha": "1234567"}}),
            [("command", "make", 0), ("commit", "1234567", None)],
        ),
    ],
)
def test_an_exit_code_is_what_the_result_says(answer: Line, wanted: list[object]) -> None:
    assert told(read_piece(CLAUDE_CODE, lines(use("c", "Bash", command="make"), answer))) == wanted


def test_a_commit_that_was_printed_is_not_seen_twice() -> None:
    commit = use("c", "Bash", command="git commit -m x")
    answer = result("c", "[main 1234567] x", gitOperation={"commit": {"sha": "1234567"}})

    assert told(read_piece(CLAUDE_CODE, lines(commit, answer)))[1:] == [("commit", "1234567", None)]


def test_a_command_in_the_background_is_told_of_when_it_ends() -> None:
    note = "<task-notification>\n<tool-use-id>{}</tool-use-id>\n<summary>x (exit code 4)</summary>"
    begun = lines(use("c", "Bash", command="pytest"), result("c", "", backgroundTaskId="b"))
    first = read_piece(CLAUDE_CODE, begun)

    ended = lines(prompt(note.format("other")), prompt(note.format("c")))
    second = read_piece(CLAUDE_CODE, ended, first.mark)

    assert [call.id for call in first.mark.waiting] == ["c"]
    assert told(second) == [("command", "pytest", 4), ("test", "pytest", 4)]
    assert second.mark.waiting == ()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (prompt("Go on."), "Go on."),
        (
            prompt([{"type": "text", "text": "Go"}, {"type": "image"}, {"type": "text", "text": "on"}]),
            "Go\non",
        ),
        (prompt("<command-name>/fix</command-name>\n<command-args>the bug</command-args>"), "/fix the bug"),
        (prompt("<command-name>/compact</command-name>\n<command-args></command-args>"), ""),
        (prompt("x", isMeta=True), ""),
        (prompt("x", isCompactSummary=True), ""),
        (prompt("x", isSidechain=True), ""),
        (prompt("<local-command-stdout>x</local-command-stdout>"), ""),
        (prompt("<task-notification>x</task-notification>"), ""),
        (prompt("[Request interrupted by user]"), ""),
        ({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "And this."}}, ""),
        (
            {
                "uuid": "u",
                "type": "attachment",
                "attachment": {"type": "queued_command", "prompt": "And this."},
            },
            "And this.",
        ),
        ({"uuid": "u", "type": "attachment", "attachment": {"type": "other", "x": ["queued_command"]}}, ""),
        ({"uuid": "u", "type": "progress", "x": ["tool_use"]}, ""),
    ],
)
def test_a_prompt_is_what_the_person_said(line: Line, wanted: str) -> None:
    assert [one.text for one in read_piece(CLAUDE_CODE, lines(line)).seen] == ([wanted] if wanted else [])


def test_a_plan_is_followed_by_the_numbers_of_its_items() -> None:
    reading = read_piece(
        CLAUDE_CODE,
        lines(
            use("a", "TaskCreate", subject="one"),
            result("a", "created", task={"id": "1"}),
            use("b", "TaskUpdate", taskId="1", status="in_progress"),
            use("c", "TaskUpdate", taskId="1", status="completed", subject="one more"),
            use("d", "TaskUpdate", taskId="9", status="completed"),
            use("e", "TodoWrite", todos=[{"content": "x", "status": "pending"}, {"content": "y"}, "z"]),
            use("f", "TodoWrite", todos=[{"content": "y", "status": "completed"}]),
        ),
    )

    assert [(one.text, one.status) for one in reading.seen] == [
        ("one", "pending"),
        ("one", "in_progress"),
        ("one more", "completed"),
        ("x", "pending"),
        ("y", ""),
        ("y", "completed"),
        ("x", "deleted"),
    ]
    assert len({one.ref for one in reading.seen}) == len(reading.seen)


def test_several_results_in_one_line_are_read() -> None:
    blocks = [*result("a", "ok")["message"]["content"], *result("b", "ok")["message"]["content"]]
    answer = {**result("a", ""), "message": {"content": blocks}}
    calls = (use("a", "Read", file_path="/x"), use("b", "Bash", command="ls"))

    assert told(read_piece(CLAUDE_CODE, lines(*calls, answer))) == [
        ("read", "/x", None),
        ("command", "ls", 0),
    ]


def speak(text: str, **more: object) -> Line:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], **more}
    return {"type": "assistant", "message": message}


@pytest.mark.requirement("C135")
@pytest.mark.parametrize(
    ("reader", "some", "words"),
    [
        (CLAUDE_CODE, [speak("a"), speak("b"), use("t", "Bash", command="ls")], "b"),
        (CLAUDE_CODE, [speak("a"), {**speak("b"), "isSidechain": True}], "a"),
        (CLAUDE_CODE, [speak("a"), speak("No response", model="<synthetic>")], "a"),
        (CLAUDE_CODE, [prompt("a")], ""),
        (CODEX, [{"type": "event_msg", "payload": {"type": "agent_message", "message": "a"}}], "a"),
        (
            CODEX,
            [
                {
                    "type": "response_item",
                    "payload": {"type": "message", "role": "assistant", "content": [{"text": "b"}]},
                }
            ],
            "b",
        ),
        (
            CODEX,
            [
                {
                    "type": "event_msg",
                    "payload": {
                        "type": "item_completed",
                        "item": {"type": "AgentMessage", "content": [{"text": "c"}]},
                    },
                },
                {"type": "event_msg", "payload": {"type": "other", "role": "assistant"}},
            ],
            "c",
        ),
        (CODEX, [{"type": "session_meta", "payload": {"thread_source": "subagent"}}, speak("a")], ""),
        (
            COPILOT,
            [
                {"type": "assistant.message", "data": {"content": "a"}},
                {"type": "assistant.message", "agentId": "x", "data": {"content": "b"}},
            ],
            "a",
        ),
    ],
)
def test_the_last_words_are_those_of_the_agent_itself(
    reader: TranscriptReader, some: list[Line], words: str
) -> None:
    broken = b'{"type":"assistant","x":{"type":"text"\n'

    assert read_piece(reader, lines(*some) + broken).words == words
    assert read_piece(reader._replace(words=None), lines(*some)).words == ""


def test_subagents_write_beside_the_session() -> None:
    assert CLAUDE_CODE.parts("/h/s.jsonl", START) == ("/h/s/subagents/*.jsonl", "/h/s/subagents/*/*.jsonl")


# --- Copilot --------------------------------------------------------------------------------------


def tool(name: str, tool_name: str, given_: object, **ended: object) -> tuple[Line, Line]:
    begun = {"toolCallId": name, "toolName": tool_name, "arguments": given_}
    told_ = {"toolCallId": name, "success": True, **ended}
    return (
        {"type": "tool.execution_start", "data": begun},
        {"type": "tool.execution_complete", "data": told_},
    )


def test_copilots_prompts_are_those_of_the_person() -> None:
    data = lines(
        {"type": "user.message", "data": {"content": "do it"}, "id": "1"},
        {"type": "user.message", "data": {"content": "helper: look"}, "agentId": "a", "id": "2"},
        {"type": "user.message", "data": {"content": "told", "source": "agent-1"}, "id": "3"},
        {"type": "session.shutdown", "data": {}},
    )

    assert told(read_piece(COPILOT, data)) == [("prompt", "do it", None)]


def test_copilots_tools_tell_what_they_edited_read_and_ran() -> None:
    whole = {"properties": {"viewType": "file"}}
    edits = [{"path": "/p/a.py", "kind": "edit"}, {"kind": "edit"}, "strange"]
    data = lines(
        {"type": "session.start", "data": {"context": {"cwd": "/p"}}},
        *tool("1", "apply_patch", "*** Begin Patch", fileEdits=edits),
        *tool("2", "edit", {"path": "/p/b.py"}, success=False, fileEdits=edits),
        *tool("3", "view", {"path": "c.py"}, toolTelemetry=whole),
        *tool("4", "view", {"path": "/p"}, toolTelemetry={"properties": {"viewType": "directory"}}),
        *tool("5", "bash", {"command": "make test"}, shellExecution={"exitCode": 2}),
        *tool("6", "powershell", {"command": "wait"}),
    )

    assert told(read_piece(COPILOT, data)) == [
        ("file", "/p/a.py", None),
        ("read", "/p/c.py", None),
        ("command", "make test", 2),
        ("test", "make test", 2),
        ("command", "wait", None),
    ]


def test_a_transcript_is_known_by_its_name_and_by_its_folders_where_all_are_called_alike() -> None:
    assert CODEX.bookmark("C:\\a\\b\\rollout-1.jsonl") == "rollout-1.jsonl"
    assert COPILOT.bookmark("/home/x/one/events.jsonl") == "one/events.jsonl"
    assert COPILOT.bookmark("events.jsonl") == "events.jsonl"


# --- Codex ----------------------------------------------------------------------------------------


def item(kind: str, **more: object) -> Line:
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **more}}


def event(kind: str, **more: object) -> Line:
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": kind, **more}}


def called(name: str, tool: str, **given_: object) -> Line:
    return item("function_call", name=tool, arguments=json.dumps(given_), call_id=name)


def answered(name: str, output: object) -> Line:
    return item("function_call_output", call_id=name, output=output)


META = {"timestamp": "t", "type": "session_meta", "payload": {"cwd": "/p"}}
TURN = {"timestamp": "t", "type": "turn_context", "payload": {"cwd": "/q"}}
PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: /d\n"


@pytest.mark.parametrize(
    ("call", "answer", "wanted"),
    [
        (
            called("c", "exec_command", cmd="ls"),
            "Process exited with code 2\nOutput:\n",
            [("command", "ls", 2)],
        ),
        (called("c", "shell", command=["bash", "-lc", "ls"]), "Exit code: 0\nx", [("command", "ls", 0)]),
        (called("c", "shell", command=["ls", "-l"]), "Exit code: 1", [("command", "ls -l", 1)]),
        (
            called("c", "shell_command", command="git commit -m x"),
            json.dumps({"output": "[main 1234567] x", "metadata": {"exit_code": 0}}),
            [("command", "git commit -m x", 0), ("commit", "1234567", None)],
        ),
        (
            item("local_shell_call", call_id="c", action={"command": ["ls"]}),
            "Exit code: 0",
            [("command", "ls", 0)],
        ),
        (called("c", "exec_command", cmd="ls"), "aborted", []),
        (called("c", "exec_command", cmd="ls"), "{not json", []),
        (called("c", "exec_command", cmd="ls"), "Process running with session ID 7", []),
        (called("c", "view_image", path="x"), "Exit code: 0", []),
        (
            called("c", "apply_patch", input=PATCH),
            "Exit code: 0",
            [("file", "/q/a", None), ("file", "/q/b", None), ("file", "/q/c", None), ("file", "/d", None)],
        ),
        (item("custom_tool_call", name="apply_patch", call_id="c", input=PATCH), "verification failed", []),
        (item("custom_tool_call", name="other", call_id="c", input=PATCH), "Exit code: 0", []),
        (
            called("c", "update_plan", plan=[{"step": "s", "status": "pending"}]),
            "Plan updated",
            [("plan", "s", None)],
        ),
        (called("c", "update_plan", plan=[{"step": "s"}]), "unsupported call: update_plan", []),
    ],
)
def test_calls_and_results_tell_where_there_are_no_events(
    call: Line, answer: str, wanted: list[object]
) -> None:
    assert told(read_piece(CODEX, lines(META, TURN, call, answered("c", answer)))) == wanted


def test_an_event_counts_and_the_result_after_it_does_not() -> None:
    ran = event(
        "exec_command_end",
        call_id="c",
        command=["/bin/zsh", "-lc", "cat a"],
        exit_code=0,
        stdout="x",
        cwd="/w",
    )
    read = {"parsed_cmd": [{"type": "read", "path": "a"}, {"type": "read"}, {"type": "search", "path": "b"}]}
    ran["payload"] |= read
    changes = {"/p/a": {"type": "update", "move_path": "/p/b"}, "/p/c": {"type": "add"}}
    patched = event("patch_apply_end", call_id="d", success=True, changes=changes)
    refused = event("patch_apply_end", call_id="e", success=False, changes=changes)
    reading = read_piece(
        CODEX,
        lines(
            META,
            called("c", "exec_command", cmd="cat a"),
            ran,
            answered("c", "Process exited with code 1\n"),
            called("d", "apply_patch", input=PATCH),
            patched,
            answered("d", "Exit code: 0"),
            refused,
            called("f", "exec_command", cmd="sleep 9"),
            event("item_completed", item={"type": "CommandExecution", "id": "f", "exit_code": -1}),
            event("item_completed", item={"type": "AgentMessage", "id": "g"}),
        ),
    )

    assert told(reading) == [
        ("command", "cat a", 0),
        ("read", "/w/a", None),
        ("file", "/p/a", None),
        ("file", "/p/c", None),
        ("file", "/p/b", None),
        ("command", "sleep 9", None),
    ]
    assert reading.mark.folder == "/p"


def test_prompts_of_a_subagent_are_not_a_persons() -> None:
    said = event("user_message", message="Do it.")
    child = {"timestamp": "t", "type": "session_meta", "payload": {"source": {"subagent": {"x": 1}}}}
    newer = {"timestamp": "t", "type": "session_meta", "payload": {"thread_source": "subagent"}}

    assert told(read_piece(CODEX, lines(META, said))) == [("prompt", "Do it.", None)]
    assert told(read_piece(CODEX, lines(child, said))) == []
    assert told(read_piece(CODEX, lines(newer, META, said))) == []


def test_a_subagent_that_was_started_is_looked_for_by_its_id() -> None:
    spawned = lines(
        called("a", "spawn_agent", message="x"),
        answered("a", '{"agent_id":"01-ab"}'),
        called("b", "spawn_agent", message="x"),
        answered("b", '{"agent_id":"../*"}'),
        called("c", "spawn_agent", message="x"),
        answered("c", "no"),
    )
    mark = read_piece(CODEX, spawned).mark

    assert mark.agents == ("01-ab", "../*")
    assert CODEX.parts("/s/2026/11/15/rollout-x.jsonl", mark) == [
        "/s/2026/11/15/rollout-*-01-ab.jsonl",
        "/s/2026/11/*/rollout-*-01-ab.jsonl",
    ]


# --- all ------------------------------------------------------------------------------------------


def said(reader: TranscriptReader, text: str) -> bytes:
    """Let the person say something, as each host writes it down."""
    if reader is COPILOT:
        return lines({"type": "user.message", "data": {"content": text}, "id": "1"})
    return lines(prompt(text) if reader is CLAUDE_CODE else event("user_message", message=text))


@pytest.mark.parametrize("reader", TONGUES, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","tool_use":' + b"[" * 100_000,
        b'{"x":"session_meta","type":"user","n":' + b"9" * 5_000 + b"}",
        b'["type":"user","session_meta","tool_use"',
        b'["session_meta","tool_use","type"]',
        b'"session_meta tool_use"tool_use"',
        b'\xff\xfe{"type":"user","session_meta"',
        b'{"type":"user","session_meta":"' + b"x" * 10_000_000,
        b'{"type":"user.message","data":' + b"[" * 100_000,
    ],
    ids=("deep", "a long number", "no end", "a list", "a text", "no text", "10 MB", "deep in another"),
)
def test_a_hostile_line_is_passed_over_and_those_after_it_are_read(
    reader: TranscriptReader, line: bytes
) -> None:
    reading = read_piece(reader, line + b"\n" + said(reader, "Go on."))

    assert told(reading) == [("prompt", "Go on.", None)]
    assert reading.passed_over == reader.wants(line, ())


@pytest.mark.parametrize("reader", TONGUES, ids=lambda one: one.name)
@given(st.data())
def test_no_value_is_of_a_type_that_breaks_a_reader(reader: TranscriptReader, data: st.DataObject) -> None:
    """Members of real lines hold anything."""
    samples = [
        use("a", "Bash", command="make test"),
        use("a", "TodoWrite", todos=[{"content": "x"}]),
        result("a", "ok", task={"id": "1"}),
        prompt("x"),
        called("a", "exec_command", cmd="ls"),
        called("a", "update_plan", plan=[{"step": "s", "status": "x"}]),
        answered("a", "Exit code: 0"),
        event("item_completed", item={"type": "FileChange", "id": "a", "changes": {"/a": {"x": 1}}}),
        event("item_completed", item={"type": "UserMessage", "id": "a", "content": [{"text": "x"}]}),
        event("exec_command_end", call_id="a", command=["ls"], exit_code=1, parsed_cmd=[{"type": "read"}]),
        META,
        *tool("a", "bash", {"command": "make test"}, shellExecution={"exitCode": 1}),
        *tool("a", "view", {"path": "x"}, fileEdits=[{"path": "y"}], toolTelemetry={"properties": {}}),
        {"type": "user.message", "data": {"content": "x"}, "id": "1"},
        {"type": "session.start", "data": {"context": {"cwd": "/p"}}},
    ]
    drawn = data.draw(st.lists(st.sampled_from(samples), max_size=4))
    broken = [_break(data, json.loads(json.dumps(one))) for one in drawn]

    reading = read_piece(reader, lines(*broken))

    assert all(one.text and isinstance(one.text, str) for one in reading.seen)
    assert reading.passed_over == 0


def _break(data: st.DataObject, value: Any) -> Any:  # JSON of any shape
    """Put anything in the place of a member, somewhere inside."""
    inside: Any = value
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(inside[key], (dict, list)) or data.draw(st.booleans()):
            inside[key] = data.draw(JSON)
            break
        inside = inside[key]
    return value


@pytest.mark.parametrize("reader", TONGUES, ids=lambda one: one.name)
def test_a_line_that_is_too_long_is_passed_over_in_pieces(
    reader: TranscriptReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "MAX_LINE", 64)
    after = said(reader, "Go on.")

    first = read_piece(reader, b"x" * 64)
    second = read_piece(reader, b"x" * 64, first.mark)
    torn = read_piece(reader, b"x\n" + after[:20], second.mark)
    rest = read_piece(reader, after, torn.mark)

    assert (first.mark.offset, first.mark.is_cut, first.passed_over) == (64, True, 1)
    assert (second.mark.offset, second.mark.is_cut, second.passed_over) == (128, True, 0)
    assert (torn.mark.offset, torn.mark.is_cut, torn.seen) == (130, False, ())
    assert told(rest) == [("prompt", "Go on.", None)]


def test_what_waits_and_what_is_planned_is_bounded() -> None:
    collector = TranscriptCollector()
    for number in range(MAX_WAITING + MAX_PLAN + 5):
        collector.wait(ToolCall(f"c{number}", FactKind.COMMAND, ("x",)))
        collector.number(str(number), "x")
    collector.wait(ToolCall("", FactKind.COMMAND, ("x",)))
    collector.wait(ToolCall("empty", FactKind.COMMAND, ("",)))

    assert (len(collector.waiting), len(collector.plan)) == (MAX_WAITING, MAX_PLAN)
    assert list(collector.waiting)[-1] == f"c{MAX_WAITING + MAX_PLAN + 4}"


def test_half_a_surrogate_pair_can_be_written_down() -> None:
    (one,) = read_piece(CLAUDE_CODE, lines(prompt("a\ud800b"))).seen

    assert one == Observation(FactKind.PROMPT, "a?b", "u")


MARKS = st.builds(
    TranscriptMark,
    offset=st.integers(0, 2**60),
    is_cut=st.booleans(),
    is_agents=st.booleans(),
    folder=st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    waiting=st.lists(
        st.builds(
            ToolCall,
            st.text(max_size=5),
            st.sampled_from(FactKind),
            st.lists(st.text(max_size=5), max_size=2).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    plan=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=3).map(tuple),
    agents=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)


@given(MARKS)
def test_a_mark_reads_back(mark: TranscriptMark) -> None:
    assert parse_mark(render_mark(mark)) == mark


def test_a_mark_is_never_too_long_for_a_line() -> None:
    calls = tuple(
        ToolCall(f"c{number}", FactKind.COMMAND, ("\u4f60" * 2000,)) for number in range(MAX_WAITING)
    )
    plan = tuple((str(number), "\u4f60" * 2000) for number in range(MAX_PLAN))
    text = render_mark(TranscriptMark(offset=7, waiting=calls, plan=plan))

    assert len(text) <= MAX_MARK
    assert parse_mark(text).offset == 7
    assert parse_mark(text).waiting[-1].id == calls[-1].id


@given(st.text(max_size=20) | JSON.map(json.dumps))
def test_what_has_no_member_of_a_mark_is_the_start(text: str) -> None:
    assert parse_mark(text) == START


def test_members_of_a_mark_that_do_not_fit_are_left_out() -> None:
    text = json.dumps(
        {"offset": -1, "waiting": [["a", "no kind", "x"], ["a"], 3], "plan": [["a"], ["b", "c"]]}
    )

    assert parse_mark(text) == TranscriptMark(plan=(("b", "c"),))
    assert parse_mark("[" * 100_000) == START


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    for reader in TONGUES:
        reading = read_piece(reader, data)
        assert reading.mark.offset == data.rfind(b"\n") + 1


@pytest.mark.parametrize(
    ("info", "percent"),
    [
        ({"last_token_usage": {"total_tokens": 1020}, "model_context_window": 95_000}, 1),
        ({"last_token_usage": {"total_tokens": 96_000}, "model_context_window": 95_000}, 100),
        ({"last_token_usage": {"total_tokens": 1}, "model_context_window": 0}, None),
        ({"last_token_usage": {"total_tokens": -1}, "model_context_window": 10}, None),
        ({"last_token_usage": {"total_tokens": True}, "model_context_window": 10}, None),
        ({"model_context_window": 10}, None),
        (None, None),
    ],
)
def test_codex_tells_how_full_its_context_is(info: object, percent: int | None) -> None:
    assert CODEX.fullness is not None

    line = json.dumps({"type": "event_msg", "payload": {"type": "token_count", "info": info}})

    assert CODEX.fullness(line.encode()) == percent


@pytest.mark.parametrize("line", [b"", b"{}", b'{"type":"token_count"', b'["token_count"]', b'"token_count"'])
def test_a_line_that_tells_nothing_of_it_is_passed_over(line: bytes) -> None:
    assert CODEX.fullness is not None

    assert CODEX.fullness(line) is None
