"""What every `Host` must do."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

import pytest

from passdown.core.briefs.budgets import Budget
from passdown.core.hosts.hook_calls import HookPoint, HookReply
from passdown.core.hosts.installs import FOLDER, PLUGIN, PluginRegistration, hook_line, read_hook_lines
from passdown.core.hosts.transcripts import Observation, TranscriptReader, parse_mark, read_piece, render_mark
from passdown.core.json_text import member_at
from passdown.engines.user_folders import read_plugin
from passdown.hosts import HostRow, Table
from passdown.hosts.hooks import read_call, write_reply
from passdown.ports.host import Host, Install
from passdown.ports.programs import ProgramResult
from passdown.records import replace
from passdown.services.project.installs import (
    InstallTarget,
    UserFile,
    install,
    plan_install,
    plan_uninstall,
    uninstall,
)
from passdown.testing.memory.documents import MemoryDocuments

CAUSES = frozenset({"startup", "resume", "clear", "compact", "fork"})
"""Why a session starts, in Passdown's terms."""

NEEDED = frozenset({HookPoint.START, HookPoint.PROMPT, HookPoint.TURN_END, HookPoint.END})
"""The hooks without which a session gets no brief or is not recorded."""

_CUTS = 60
_LEAST_CHARACTERS = 600
_FULL = 100
_OTHERS: tuple[object, ...] = (None, 3, True, (), MappingProxyType[str, str]({}), "")


class RecordedTool(NamedTuple):
    """A recorded payload of the hook before a tool, and the call it must be read as."""

    payload: Mapping[str, object]
    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    subagent: str = ""


class HostConformance(ABC):
    """The promises of a host; subclass it, name the host and its recordings, and call it `Test…`."""

    row: HostRow
    """The row of the host in the table."""

    transcript: bytes = b""
    """A recorded transcript; empty only for a host whose transcripts cannot be read."""

    status: Mapping[str, object] | None = None
    """What the host passes to its status line; None only for a host without one."""

    settings: tuple[bytes | None, ...] = (None,)
    """What the host's settings may hold before an install; None means no file."""

    @abstractmethod
    def payloads(self) -> Sequence[tuple[Mapping[str, object], HookPoint | None]]:
        """Return recorded hook payloads, each with its hook point, or None if there is nothing to do."""

    def tool_calls(self) -> Sequence[RecordedTool]:
        """Return recorded payloads of the hook before a tool; none only for a host without such a hook."""
        return ()

    def is_denial(self, answer: Mapping[str, object]) -> bool:
        """Return whether an answer keeps a tool from running."""
        denial = member_at(answer, "hookSpecificOutput", "permissionDecision")
        return denial == "deny"

    def obey(self, settings: bytes | None, command: Sequence[str]) -> bytes | None:
        """Apply an install command to the host's settings as its program would."""
        raise NotImplementedError(command)

    @pytest.fixture
    def host(self) -> Host:
        """Load the host by its row."""
        return Table(self.row).find(self.row.names[0])

    # --- names and limits ---

    def test_its_names_are_plain_and_the_row_says_the_same(self, host: Host) -> None:
        """Files are named after it; its title is for people."""
        assert host.name == self.row.names[0]
        assert len(set(self.row.names)) == len(self.row.names)
        for name in self.row.names:
            assert name.isascii()
            assert name == name.lower()
            assert name.replace("-", "").isalnum()
        assert host.title.strip() == host.title != ""
        assert host.title.isprintable()

    def test_its_variables_are_names(self, host: Host) -> None:
        """An empty name would match everywhere or nowhere."""
        for name in (*self.row.session_variables, *host.signs.variables):
            assert name.isidentifier()
            assert name == name.upper()
        for name in self.row.programs:
            assert name == name.strip() != ""
            assert "/" not in name
        ids = Table(self.row).session_ids(dict.fromkeys(self.row.session_variables, "id-1"))
        assert ids == ["id-1"] * len(self.row.session_variables)

    def test_its_limit_has_room_for_a_brief(self, host: Host) -> None:
        """The second brief, which follows a truncated one, is smaller."""
        assert host.budget.characters >= _LEAST_CHARACTERS
        assert host.budget.smaller().characters <= host.budget.characters
        assert host.budget.smaller().tokens <= host.budget.tokens

    # --- hooks ---

    def test_recorded_payloads_are_read(self, host: Host) -> None:
        """Each yields its hook point, its session and the host's name for the event."""
        recorded = self.payloads()
        assert {point for _, point in recorded} >= NEEDED
        for payload, point in recorded:
            call = host.read_call(payload)
            assert (call and call.point) == point
            if call is not None:
                assert call.session
                assert call.event
                assert call.point is not HookPoint.START or call.cause in CAUSES

    def test_what_is_no_payload_is_nothing_to_do(self, host: Host) -> None:
        """A member of another type does no harm."""
        assert host.read_call({}) is None
        assert host.read_call({"x": "y"}) is None
        for payload, point in self.payloads():
            for name in payload:
                for other in _OTHERS:
                    call = host.read_call({**payload, name: other})
                    assert call is None or call.point is point

    def test_an_answer_is_json_and_says_what_is_to_be_said(self, host: Host) -> None:
        """No content means no reply; the context for the model appears in it once."""
        for payload, _ in self.payloads():
            call = host.read_call(payload)
            if call is None:
                continue
            assert host.write_reply(call, HookReply()) == {}
            answer = host.write_reply(call, HookReply(context='a "brief"\n', notice="a notice"))
            assert json.dumps(answer).count(r"a \"brief\"\n") == 1

    # --- the hook before a tool ---

    def test_what_a_tool_would_do_is_read(self, host: Host) -> None:
        """Paths are as the host sent them, absolute or relative to the folder that it names."""
        for one in self.tool_calls():
            call = host.read_call(one.payload)
            assert call is not None
            assert call.point is HookPoint.BEFORE_TOOL
            assert (call.paths, call.command) == (one.paths, one.command)
            assert call.subagent == one.subagent
            assert call.session

    def test_both_edits_and_commands_are_known_if_the_host_asks_before_a_tool(self, host: Host) -> None:
        """The edit hook that an install registers is called for either."""
        calls = self.tool_calls()
        is_asked = bool(host.load_install and host.load_install().edit_hooks)
        assert is_asked == bool(calls)
        assert is_asked == any(one.paths for one in calls)
        assert is_asked == any(one.command for one in calls)

    def test_a_tool_that_is_not_known_changes_nothing(self, host: Host) -> None:
        """A tool that Passdown does not know cannot be refused."""
        for one in self.tool_calls():
            name = next(name for name, value in one.payload.items() if value == one.tool)
            call = host.read_call({**one.payload, name: "a-tool-of-tomorrow"})
            assert call is None or (call.paths, call.command) == ((), "")

    def test_a_malformed_input_of_a_tool_changes_nothing(self, host: Host) -> None:
        """A member of another type does no harm, at the top or one level below."""
        for one in self.tool_calls():
            for payload in _spoil(one.payload):
                call = host.read_call(payload)
                assert call is None or set(call.paths) <= set(one.paths)
                assert call is None or call.command in {"", one.command}

    def test_a_refusal_denies_the_tool_and_says_why(self, host: Host) -> None:
        """This is only possible before a tool runs."""
        for one in self.tool_calls():
            call = host.read_call(one.payload)
            assert call is not None
            answer = host.write_reply(call, HookReply(refusal='it is "held"\n'))
            assert self.is_denial(answer)
            assert json.dumps(answer).count(r"it is \"held\"\n") == 1
            assert not self.is_denial(host.write_reply(call, HookReply(context="x", notice="y")))
            assert host.write_reply(call, HookReply()) == {}
        for payload, _ in self.payloads():
            call = host.read_call(payload)
            if call is not None and call.point is not HookPoint.BEFORE_TOOL:
                assert not self.is_denial(host.write_reply(call, HookReply(refusal="no")))

    def test_its_signs_lead_to_it(self, host: Host) -> None:
        """Each sign is enough on its own, whatever other hosts exist."""
        signs = host.signs
        table = Table(HostRow(("other",), __name__), self.row)
        for variable in signs.variables:
            assert table.guess({}, {variable: "1"}) == host
        for member in signs.members:
            assert table.guess({member: "x"}, {}) == host
        if signs.transcript:
            assert table.guess({"transcript_path": f"/a/b/{signs.transcript}"}, {}) == host
            assert table.guess({"transcript_path": f"C:\\b\\{signs.transcript}"}, {}) == host

    def test_a_status_is_read_and_what_is_none_does_no_harm(self, host: Host) -> None:
        """It yields the folder, the session and how full the context is."""
        if host.read_status is None:
            assert self.status is None
            return
        assert self.status is not None
        told = host.read_status(self.status)
        assert told.folder
        assert told.session
        assert told.used is not None
        for name in self.status:
            host.read_status({**self.status, name: 3})
        assert host.read_status({})[:2] == ("", "")

    # --- transcripts ---

    def test_what_a_transcript_tells_does_not_depend_on_where_it_is_cut(self, host: Host) -> None:
        """It does not depend on whether the mark was stored in between either."""
        reader = self._tongue(host)
        if reader is None:
            return
        whole = read_piece(reader, self.transcript).seen
        assert whole
        size = len(self.transcript)
        for cut in {*range(1, size, max(1, size // _CUTS)), size}:
            assert _read_cut(reader, self.transcript, cut) == whole

    def test_lines_that_are_none_are_passed_over(self, host: Host) -> None:
        """The rest of the transcript is still read."""
        reader = self._tongue(host)
        if reader is None:
            return
        lines = self.transcript.splitlines(keepends=True)
        torn = b"".join(b'\xff{"\n[]\n{}\nnull\n' + line for line in lines)
        assert read_piece(reader, torn).seen == read_piece(reader, self.transcript).seen
        for line in (*lines, b"", b"{", b"\xff"):
            if reader.fullness is not None:
                assert reader.fullness(line) in {None, *range(_FULL + 1)}
            if reader.is_turn_end is not None:
                assert reader.is_turn_end(line) in {True, False}

    def _tongue(self, host: Host) -> TranscriptReader | None:
        if host.load_transcripts is None:
            assert not self.transcript
            return None
        return host.load_transcripts()

    # --- install ---

    def test_every_hook_of_the_plugin_names_the_host(self, host: Host) -> None:
        """The files are below the folder that the host is given, and are the same each time."""
        if host.load_install is None:
            return
        way = host.load_install()
        called = hook_line('"/a b/passdown"', host.name)
        files = way.render(read_plugin(), called)
        assert files == way.render(read_plugin(), called)
        lines = {line for data in files.values() for line in read_hook_lines(data)}
        assert lines == {called}
        assert not any(path.startswith("/") or ".." in path for path in files)

    def test_its_commands_name_the_folder_once(self, host: Host) -> None:
        """Only the commands that add need it; settings without the plugin contain nothing of ours."""
        if host.load_install is None:
            return
        way = host.load_install()
        assert [word for command in way.add for word in command].count(FOLDER) == 1
        assert not any(FOLDER in command for command in way.remove)
        for settings in (*_OTHERS, {"plugins": 1}, {"enabledPlugins": [PLUGIN]}):
            assert way.read_registration(settings) == PluginRegistration()

    def test_an_install_is_done_once_and_can_be_undone(self, host: Host) -> None:
        """What was there before is restored byte for byte."""
        if host.load_install is None:
            return
        for before in self.settings:
            home = self._make_home(host, host.load_install(), before)
            plan = plan_install(home)
            assert not plan.is_empty
            install(home, plan)
            assert plan_install(home).is_empty
            assert home.open_file(home.instructions).read()

            uninstall(home, plan_uninstall(home))
            assert home.settings.read() == before
            assert home.open_file(home.instructions).read() is None
            assert list(home.data.list("")) == []
            assert plan_uninstall(home).is_empty

    def _make_home(self, host: Host, way: Install, before: bytes | None) -> InstallTarget:
        own = MemoryDocuments({} if before is None else {way.settings: before})
        project = MemoryDocuments()
        programs = _Program(self, way, own)
        return InstallTarget(
            host=host,
            install=way,
            programs=programs,
            data=MemoryDocuments(),
            folder="/data/passdown",
            settings=UserFile(own, way.settings, f"/home/{way.settings}"),
            plugin=read_plugin(),
            line="passdown",
            can_wrap=True,
            open_file=lambda path: UserFile(project, path, path),
            sweep=lambda: None,
            instructions=way.instructions,
        )


class _Program:
    """The host's program, which changes its settings like the real commands."""

    def __init__(self, suite: HostConformance, way: Install, documents: MemoryDocuments) -> None:
        self._suite = suite
        self._way = way
        self._documents = documents

    def find(self, name: str) -> str:
        """Return a path for the host's own program only."""
        return f"/bin/{name}" if name == self._way.program else ""

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Do what the host's program would do."""
        path = self._way.settings
        before = self._documents.read(path) if self._documents.exists(path) else None
        after = self._suite.obey(before, command[1:])
        if after is not None:
            self._documents.replace(path, after)
        return ProgramResult(0, "")


def _spoil(payload: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the payload with one member of another type, at the top or one level below."""
    for name, value in payload.items():
        for other in _OTHERS:
            yield {**payload, name: other}
            if isinstance(value, Mapping):
                inner = cast("Mapping[str, object]", value)
                yield from ({**payload, name: {**inner, key: other}} for key in inner)


def _read_cut(reader: TranscriptReader, data: bytes, cut: int) -> tuple[Observation, ...]:
    """Read a transcript in two pieces, with the mark stored in between."""
    first = read_piece(reader, data[:cut])
    mark = parse_mark(render_mark(first.mark))
    assert replace(mark, offset=0) == replace(first.mark, offset=0)
    return (*first.seen, *read_piece(reader, data[mark.offset :], mark).seen)


HOST = Host(
    name="other",
    title="Another host",
    budget=Budget(),
    read_call=read_call,
    write_reply=write_reply,
)
"""The first host in the table, before the one under test: it has no signs."""
