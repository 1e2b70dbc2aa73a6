"""Install the plugin into a host, and take it out again: plan, show, do (C71)."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Final, NamedTuple, TypeVar, cast

from passdown.core.installs import (
    INSTRUCTIONS,
    Command,
    Host,
    Receipt,
    Registration,
    fill,
    parse_receipt,
    read_registration,
    render_plugin,
    render_receipt,
)
from passdown.core.problems import Malformed
from passdown.core.setups import put_block, take_block
from passdown.core.status_lines import (
    MEMBER,
    clean_settings,
    put_status_line,
    read_settings,
    undo_settings,
    unwrap_command,
)
from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.ports.programs import Programs
from passdown.records import record, replace

S = TypeVar("S")
T = TypeVar("T")

_MOST: Final = 300


class File(NamedTuple):
    """A file that is not in a project, and how a person knows it."""

    documents: Documents
    name: str
    path: str

    def read(self) -> bytes | None:
        """Give what it holds; None if it is not there."""
        return self.documents.read(self.name) if self.documents.exists(self.name) else None


class Edit(NamedTuple):
    """A file that is made, changed or, where nothing comes after, removed."""

    file: File
    before: bytes | None
    after: bytes | None


@record
class Home:
    """A host on this machine, and all that an install into it works with."""

    host: Host
    programs: Programs
    data: Annotated[Documents, "The files that we keep for the user."]
    folder: Annotated[str, "Where they lie."]
    settings: Annotated[File, "The host's settings."]
    plugin: Annotated[Mapping[str, bytes], "The plugin as it came with the package."]
    line: Annotated[str, "How hooks call us."]
    can_wrap: Annotated[bool, "Whether the shell of this system can run two status lines."]
    open_file: Annotated[Callable[[str], File], "Opens a file by its path; links are followed."]
    sweep: Annotated[Callable[[], None], "Removes folders of ours in which nothing lies."]
    instructions: Annotated[str, "The path of the project's file of instructions; empty to leave it."] = ""

    @property
    def place(self) -> str:
        """The folder of the plugin, among the files that we keep."""
        return f"plugins/{self.host.name}"

    @property
    def source(self) -> str:
        """The folder of the plugin, for the host."""
        return f"{self.folder}/{self.place}"

    @property
    def receipt(self) -> str:
        """The file that says what was there before."""
        return f"installs/{self.host.name}.json"


@record
class Plan:
    """What is to be done, in this order; nothing when it is done already."""

    files: Annotated[tuple[Edit, ...], "Files of the plugin."] = ()
    commands: Annotated[tuple[Command, ...], "What the host is asked to do."] = ()
    edits: Annotated[tuple[Edit, ...], "The user's own files: settings, instructions."] = ()
    notes: Annotated[tuple[str, ...], "What the person should know."] = ()
    receipt: Annotated[Receipt | None, "What was there before."] = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.files or self.commands or self.edits)


# --- install --------------------------------------------------------------------------------------


def plan_install(home: Home) -> Plan:
    """Work out what an install lacks; nothing is touched.

    Raises a UsageError when the host is not there, or has the plugin from somewhere else: two of them would
    answer every hook twice. Raises a FormatError for settings that cannot be read.
    """
    program = _need_program(home)
    noted = _read_noted(home)
    if _is_elsewhere(home, noted):
        hint = f"take it out first: {home.host.program} {' '.join(home.host.remove[0])}"
        raise UsageError(f"{home.host.title} has the plugin already, from {noted.source}", hint=hint)
    files = tuple(_plan_files(home))
    edits, notes = _plan_own(home)
    return Plan(
        files=files,
        commands=tuple((program, *fill(one, home.source)) for one in _needed(home, noted, bool(files))),
        edits=edits,
        notes=notes,
        receipt=_plan_receipt(home, noted),
    )


def _need_program(home: Home) -> str:
    program = home.programs.find(home.host.program)
    if not program:
        hint = f"install {home.host.title} first, or add its folder to PATH"
        raise UsageError(f"there is no program {home.host.program} on your PATH", hint=hint)
    return program


def _read_noted(home: Home) -> Registration:
    """Read what the host has noted about the plugin."""
    read = read_settings if home.host.is_json else tomllib.loads
    data: object = _told(home.settings, read, _read_text(home.settings))
    found = read_registration(home.host, data)
    return found._replace(source=found.source.replace("\\", "/"))


def _is_elsewhere(home: Home, noted: Registration) -> bool:
    return bool(noted.source) and noted.source != home.source


def _told(file: File, read: Callable[[S], T], data: S) -> T:
    """Read a text, or raise a FormatError that names its file."""
    try:
        return read(data)
    except Malformed as found:
        raise FormatError(f"{file.path} {found.problem}", hint="mend it, then repeat") from found
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as found:
        raise FormatError(f"{file.path}: {found}", hint="mend it, then repeat") from found


def _read_text(file: File) -> str:
    return _told(file, bytes.decode, file.read() or b"")


def _needed(home: Home, noted: Registration, is_changed: bool) -> Iterator[Command]:  # noqa: FBT001
    """Give the commands of the host that bring the plugin in; none where it is."""
    add, install = home.host.add
    if not noted.source:
        yield add
    if not noted.source or not noted.is_enabled or (is_changed and home.host.copies):
        yield install


def _plan_files(home: Home) -> Iterator[Edit]:
    """Work out which files of the plugin are missing, changed, or of an older version."""
    wanted = render_plugin(home.plugin, home.line, home.host)
    for path in sorted({*wanted, *_names(home)}):
        name = f"{home.place}/{path}"
        file = File(home.data, name, f"{home.folder}/{name}")
        before, after = file.read(), wanted.get(path)
        if before != after:
            yield Edit(file, before, after)


def _names(home: Home) -> list[str]:
    return [path.removeprefix(f"{home.place}/") for path in home.data.list(home.place)]


def _plan_own(home: Home) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """Work out what changes in files that are the user's: the status line, and instructions if asked for."""
    edits: list[Edit] = []
    notes: list[str] = []
    if home.host.has_status_line:
        edit, note = _plan_status_line(home)
        edits += [edit] if edit else []
        notes += [note] if note else []
    if home.instructions:
        file = home.open_file(home.instructions)
        before = file.read()
        after = put_block(before or b"", INSTRUCTIONS, in_markdown=True)
        edits += [Edit(file, before, after)] if after != before else []
    return tuple(edits), tuple(notes)


def _plan_status_line(home: Home) -> tuple[Edit | None, str]:
    text = _read_text(home.settings)
    put = put_status_line(text, home.line, can_wrap=home.can_wrap)
    if put.note or put.text == text:
        return None, put.note
    return Edit(home.settings, home.settings.read(), put.text.encode()), ""


def _plan_receipt(home: Home, noted: Registration) -> Receipt:
    """Say what was there before; an older receipt knows, as long as anything of ours is in the settings."""
    old = _read_receipt(home)
    if old is None or not (noted.source or noted.is_noted or _has_status_line(home)):
        old = Receipt(host=home.host.name, settings=home.settings.path, before=home.settings.read())
    if home.instructions and home.instructions not in old.instructions:
        made = () if home.open_file(home.instructions).read() is not None else (home.instructions,)
        old = replace(old, instructions=(*old.instructions, home.instructions), made=(*old.made, *made))
    return old


def _has_status_line(home: Home) -> bool:
    """Say whether the status line in the settings is ours."""
    if not home.host.is_json:
        return False
    value = read_settings(_read_text(home.settings)).get(MEMBER)
    line = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return unwrap_command(str(line.get("command", ""))) is not None


def _read_receipt(home: Home) -> Receipt | None:
    return parse_receipt(home.data.read(home.receipt)) if home.data.exists(home.receipt) else None


def install(home: Home, plan: Plan) -> None:
    """Do what was planned. Raises a PassdownError when the host refuses; `uninstall` takes back the rest.

    1. What was there before is written down before anything changes.
    2. The host notes the plugin in its settings, in its own way: our edit of them follows on what it wrote.
    """
    if plan.receipt is not None:  # 1
        home.data.replace(home.receipt, render_receipt(plan.receipt), local=True)
    for edit in plan.files:
        _write(edit)
    for command in plan.commands:
        outcome = home.programs.run(command)
        if not outcome.is_done:
            hint = f"`passdown uninstall {home.host.name}` takes back what was written"
            raise PassdownError(f"{home.host.title} refused: {_last_line(outcome.text)}", hint=hint)
    for edit in plan.edits:
        again = _plan_status_line(home)[0] if edit.file == home.settings else edit  # 2
        if again is not None:
            _write(again)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_MOST] if lines else "it said nothing"


def _write(edit: Edit) -> None:
    """Write a file, unless it has changed since it was looked at."""
    if edit.file.read() != edit.before:
        hint = "repeat the command; the newer text was kept"
        raise StorageError(f"{edit.file.path} has changed meanwhile; it was not written", hint=hint)
    if edit.after is not None:
        edit.file.documents.replace(edit.file.name, edit.after)
    else:
        edit.file.documents.remove(edit.file.name, edit.before or b"")


# --- uninstall ------------------------------------------------------------------------------------


def plan_uninstall(home: Home) -> Plan:
    """Work out what an install has left on this machine; nothing is touched.

    Raises a FormatError for settings that cannot be read.
    """
    noted = _read_noted(home)
    receipt = _read_receipt(home)
    commands, notes = _plan_removal(home, noted)
    return Plan(
        files=tuple(_plan_disposal(home)),
        commands=commands,
        edits=(*_plan_undo(home, receipt), *_plan_blocks(home, receipt)),
        notes=notes,
        receipt=receipt,
    )


def _plan_removal(home: Home, noted: Registration) -> tuple[tuple[Command, ...], tuple[str, ...]]:
    """Give the commands that take the plugin out, and why there are none."""
    if _is_elsewhere(home, noted):
        return (), (f"the plugin that {home.host.title} has from {noted.source} is left as it is",)
    take, forget = home.host.remove
    needed = [*([take] if noted.is_noted else []), *([forget] if noted.source else [])]
    program = home.programs.find(home.host.program)
    if needed and not program:
        return (), (f"there is no program {home.host.program} on your PATH, so it was not asked",)
    return tuple((program, *one) for one in needed), ()


def _plan_disposal(home: Home) -> Iterator[Edit]:
    for path in (*home.data.list(home.place), *([home.receipt] if home.data.exists(home.receipt) else [])):
        file = File(home.data, path, f"{home.folder}/{path}")
        yield Edit(file, file.read(), None)


def _plan_undo(home: Home, receipt: Receipt | None) -> Iterator[Edit]:
    """Work out what the host's settings are without us."""
    before = home.settings.read()
    if before is None or _is_elsewhere(home, _read_noted(home)):
        return
    if not home.host.is_json:
        # The host takes its own lines out; it leaves a line end, or an empty file where there was none.
        old = receipt.before if receipt else before
        if before != old and before.strip() == (old or b"").strip():
            yield Edit(home.settings, before, old)
        return
    text = _read_text(home.settings)
    after = clean_settings(text) if receipt is None else undo_settings(text, _old_text(receipt))
    if after != text:
        yield Edit(home.settings, before, None if after is None else after.encode())


def _old_text(receipt: Receipt) -> str | None:
    return None if receipt.before is None else receipt.before.decode("utf-8", "replace")


def _plan_blocks(home: Home, receipt: Receipt | None) -> Iterator[Edit]:
    """Work out how files of instructions look without our block."""
    for path in receipt.instructions if receipt else ():
        # A project that is gone has no file to mend.
        with suppress(StorageError):
            file = home.open_file(path)
            before = file.read()
            after = take_block(before or b"", in_markdown=True)
            if before is not None and after != before:
                is_ours = not after and receipt is not None and path in receipt.made
                yield Edit(file, before, None if is_ours else after)


def uninstall(home: Home, plan: Plan) -> tuple[str, ...]:
    """Do what was planned, and tell what the host refused; the rest is done all the same.

    The receipt goes last: when we are stopped, the next call finds it.
    """
    notes: list[str] = []
    for command in plan.commands:
        outcome = home.programs.run(command)
        if not outcome.is_done:
            notes.append(f"{home.host.title} refused: {_last_line(outcome.text)}")
    for edit in (*_plan_undo(home, plan.receipt), *(one for one in plan.edits if one.file != home.settings)):
        _write(edit)
    for edit in plan.files:
        _write(edit)
    home.sweep()
    return tuple(notes)
