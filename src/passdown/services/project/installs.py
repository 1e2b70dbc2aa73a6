"""Install the plugin into a host, and uninstall it: plan, show, then do it (C71)."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Final, NamedTuple, TypeVar, cast

from passdown import layout
from passdown.core.hosts.installs import (
    HOOKS,
    INSTRUCTIONS,
    PLUGIN,
    Command,
    InstallReceipt,
    PluginRegistration,
    add_edit_hooks,
    fill,
    find_differing,
    has_edit_hooks,
    hook_line,
    parse_receipt,
    read_hook_lines,
    render_receipt,
)
from passdown.core.hosts.permission_rules import SettingsChange, put_rules
from passdown.core.hosts.status_lines import (
    MEMBER,
    clean_settings,
    put_status_line,
    read_settings,
    undo_settings,
    unwrap_command,
)
from passdown.core.hosts.writable_roots import drop_roots, put_root, read_roots
from passdown.core.problems import Malformed
from passdown.core.project.git_rules import put_block, remove_block
from passdown.core.safe_text import one_line
from passdown.errors import FormatError, PassdownError, StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.ports.host import Host, Install
from passdown.ports.programs import Programs
from passdown.records import record, replace
from passdown.services.workspace.documents import Repair

S = TypeVar("S")
T = TypeVar("T")

_MOST: Final = 300


class UserFile(NamedTuple):
    """A file outside the project, and its path as shown to the user."""

    documents: Documents
    name: str
    path: str

    def read(self) -> bytes | None:
        """Return its content, or None if it does not exist."""
        return self.documents.read(self.name) if self.documents.exists(self.name) else None


class FileEdit(NamedTuple):
    """A file that is created, changed, or (if `after` is None) removed."""

    file: UserFile
    before: bytes | None
    after: bytes | None

    @property
    def difference(self) -> str:
        """The change as a diff."""
        before, after = (data.decode("utf-8", "replace") for data in (self.before or b"", self.after or b""))
        repair = Repair(path=self.file.path, before=before, after=after)
        return repair.difference(one_line(self.file.path))


@record
class InstallTarget:
    """A host on this machine, and everything that an install into it needs."""

    host: Host
    install: Annotated[Install, "How to install the plugin into the host."]
    programs: Programs
    data: Annotated[Documents, "Our files for this user."]
    folder: Annotated[str, "The folder of these files."]
    settings: Annotated[UserFile, "The host's settings."]
    plugin: Annotated[Mapping[str, bytes], "The plugin as it came with the package."]
    line: Annotated[str, "The command line by which hooks call us."]
    can_wrap: Annotated[bool, "Whether the shell of this system can run two status lines."]
    open_file: Annotated[Callable[[str], UserFile], "Opens a file by its path, following links."]
    sweep: Annotated[Callable[[], None], "Removes empty folders of ours."]
    instructions: Annotated[str, "The path of the project's instructions file; empty to leave it alone."] = ""
    edits: Annotated[bool | None, "Whether hooks check edits; None to keep the current state."] = None
    guard: Annotated[Callable[[str], str], "Makes hooks do nothing where our program is missing."] = str
    permits: Annotated[bool, "Whether to add the permissions that agents need for recording."] = True
    root: Annotated[str, "The folder that sessions of this project share; empty without a project."] = ""
    make_root: Annotated[Callable[[], None], "Creates that folder, which a sandbox could not."] = lambda: None

    @property
    def place(self) -> str:
        """The folder of the plugin, relative to our data folder."""
        return layout.plugin_folder(self.host.name)

    @property
    def source(self) -> str:
        """The full path of the plugin's folder, for the host."""
        return f"{self.folder}/{self.place}"

    @property
    def receipt(self) -> str:
        """The file that records what was there before."""
        return layout.install_receipt(self.host.name)


@record
class InstallPlan:
    """The steps to take, in this order; empty if there is nothing to do."""

    files: Annotated[tuple[FileEdit, ...], "Files of the plugin."] = ()
    commands: Annotated[tuple[Command, ...], "The commands for the host to run."] = ()
    edits: Annotated[tuple[FileEdit, ...], "The user's own files: settings, instructions."] = ()
    notes: Annotated[tuple[str, ...], "Notes for the user."] = ()
    receipt: Annotated[InstallReceipt | None, "What was there before."] = None
    checks_edits: Annotated[bool, "Whether hooks are called before edits and commands."] = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.files or self.commands or self.edits)


# --- install --------------------------------------------------------------------------------------


def plan_install(target: InstallTarget) -> InstallPlan:
    """Plan what an install still needs; nothing is changed.

    Raises a UsageError if the host is not installed, has no hooks before edits, or has the plugin from
    another source, because two plugins would answer every hook twice. Raises a FormatError if the settings
    cannot be read.
    """
    program = _need_program(target)
    if target.edits and not target.install.edit_hooks:
        raise UsageError(f"{target.host.title} has no hook before an edit", hint="leave out --edits")
    noted = _read_noted(target)
    if _is_elsewhere(target, noted):
        hint = f"remove it first: `{target.install.program} {' '.join(target.install.remove[0])}`"
        raise UsageError(f"{target.host.title} already has the plugin, from {noted.source}", hint=hint)
    files = tuple(_plan_files(target))
    settings, notes = _plan_settings(target)
    edits = [settings] if settings else []
    if target.instructions:
        file = target.open_file(target.instructions)
        before = file.read()
        after = put_block(before or b"", INSTRUCTIONS, in_markdown=True)
        edits += [FileEdit(file, before, after)] if after != before else []
    return InstallPlan(
        files=files,
        commands=tuple((program, *fill(one, target.source)) for one in _needed(target, noted, bool(files))),
        edits=tuple(edits),
        notes=notes,
        receipt=_plan_receipt(target, noted),
        checks_edits=_judges_edits(target),
    )


def _need_program(target: InstallTarget) -> str:
    program = target.programs.find(target.install.program)
    if not program:
        hint = f"install {target.host.title} first, or add its folder to PATH"
        raise UsageError(f"{target.install.program} is not on your PATH", hint=hint)
    return program


def _read_noted(target: InstallTarget) -> PluginRegistration:
    """Read the plugin's registration from the host's settings."""
    read = read_settings if target.install.is_json else tomllib.loads
    data: object = _told(target.settings, read, _read_text(target.settings))
    found = target.install.read_registration(data)
    return found._replace(source=found.source.replace("\\", "/"))


def _is_elsewhere(target: InstallTarget, noted: PluginRegistration) -> bool:
    return bool(noted.source) and noted.source != target.source


def _told(file: UserFile, read: Callable[[S], T], data: S) -> T:
    """Parse a text, or raise a FormatError with the name of its file."""
    try:
        return read(data)
    except Malformed as found:
        raise FormatError(f"{file.path} {found.problem}", hint="fix it and run the command again") from found
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as found:
        raise FormatError(f"{file.path}: {found}", hint="fix it and run the command again") from found


def _read_text(file: UserFile) -> str:
    return _told(file, bytes.decode, file.read() or b"")


def _needed(target: InstallTarget, noted: PluginRegistration, is_changed: bool) -> Iterator[Command]:  # noqa: FBT001
    """Yield the host's commands that install the plugin; none if it is installed."""
    add, install = target.install.add
    if not noted.source:
        yield add
    if not noted.source or not noted.is_enabled or (is_changed and target.install.copies):
        yield install


def _plan_files(target: InstallTarget) -> Iterator[FileEdit]:
    """Yield the edits for plugin files that are missing, changed, or from an older version."""
    called = target.guard(hook_line(target.line, target.host.name))
    wanted = render_files(target.install, target.plugin, called, checks_edits=_judges_edits(target))
    there = [path.removeprefix(f"{target.place}/") for path in target.data.list(target.place)]
    for path in sorted({*wanted, *there}):
        name = f"{target.place}/{path}"
        file = UserFile(target.data, name, f"{target.folder}/{name}")
        before, after = file.read(), wanted.get(path)
        if before != after:
            yield FileEdit(file, before, after)


def render_files(
    install: Install, plugin: Mapping[str, bytes], called: str, *, checks_edits: bool
) -> Mapping[str, bytes]:
    """Return the files that an install writes for a host, from the plugin as it came with the package."""
    if checks_edits:
        plugin = {**plugin, HOOKS: add_edit_hooks(plugin[HOOKS], install.edit_hooks)}
    return install.render(plugin, called)


def find_outdated(
    install: Install, plugin: Mapping[str, bytes], installed: Mapping[str, bytes]
) -> tuple[str, ...]:
    """Return the files of an installed plugin that an install would write differently now.

    The command of the hooks does not count: another copy of Passdown may have installed them.
    """
    hooks = installed.get(f"{PLUGIN}/{HOOKS}", b"")
    called = "".join(read_hook_lines(hooks)[:1])
    wanted = render_files(install, plugin, called, checks_edits=has_edit_hooks(hooks))
    return tuple(path.removeprefix(f"{PLUGIN}/") for path in find_differing(installed, wanted))


def _judges_edits(target: InstallTarget) -> bool:
    """Return whether hooks should check edits: as requested, else as installed."""
    if target.edits is not None:
        return target.edits
    path = f"{target.place}/{PLUGIN}/{HOOKS}"
    return target.data.exists(path) and has_edit_hooks(target.data.read(path))


def _plan_settings(target: InstallTarget) -> tuple[FileEdit | None, tuple[str, ...]]:
    """Plan the edit of the host's settings: the status line, permission rules, and a writable folder."""
    before = after = _read_text(target.settings)
    notes: list[str] = []
    for put in _list_settings(target):
        change = put(after)
        after = after if change.note else change.text
        notes += [change.note] if change.note else []
    edit = FileEdit(target.settings, target.settings.read(), after.encode()) if after != before else None
    return edit, tuple(notes)


def _list_settings(target: InstallTarget) -> Iterator[Callable[[str], SettingsChange]]:
    """Yield the functions that add our entries to the host's settings."""
    if target.install.has_status_line:
        yield lambda text: put_status_line(text, target.line, can_wrap=target.can_wrap)
    if target.install.rules and target.permits:
        yield lambda text: put_rules(text, target.install.rules)
    if _needs_root(target):
        yield lambda text: put_root(text, target.root)


def _needs_root(target: InstallTarget) -> bool:
    """Return whether the host's sandbox must allow the folder that sessions share (C158)."""
    return target.install.has_writable_roots and target.permits and bool(target.root)


def _plan_receipt(target: InstallTarget, noted: PluginRegistration) -> InstallReceipt:
    """Return what was there before; an older receipt is kept while our entries are in the settings."""
    old = _read_receipt(target)
    if old is None or not (noted.source or noted.is_noted or _has_status_line(target)):
        old = InstallReceipt(
            host=target.host.name, settings=target.settings.path, before=target.settings.read()
        )
    if target.instructions and target.instructions not in old.instructions:
        made = () if target.open_file(target.instructions).read() is not None else (target.instructions,)
        old = replace(old, instructions=(*old.instructions, target.instructions), made=(*old.made, *made))
    if _needs_root(target) and target.root not in (read_roots(_read_text(target.settings)) or ()):
        old = replace(old, roots=tuple(dict.fromkeys((*old.roots, target.root))))
    return old


def plan_sandbox(target: InstallTarget) -> InstallPlan:
    """Plan only the entry that lets a host's sandbox write to this project's folder, if installed there.

    Raises a FormatError if the settings cannot be read.
    """
    noted = _read_noted(target)
    if _read_receipt(target) is None or not noted.source or _is_elsewhere(target, noted):
        return InstallPlan()
    edit, notes = _plan_settings(target)
    return InstallPlan(
        edits=(edit,) if edit else (), notes=notes, receipt=_plan_receipt(target, noted) if edit else None
    )


def _has_status_line(target: InstallTarget) -> bool:
    """Return whether the status line in the settings is ours."""
    if not target.install.is_json:
        return False
    value = read_settings(_read_text(target.settings)).get(MEMBER)
    line = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return unwrap_command(str(line.get("command", ""))) is not None


def _read_receipt(target: InstallTarget) -> InstallReceipt | None:
    return parse_receipt(target.data.read(target.receipt)) if target.data.exists(target.receipt) else None


def install(target: InstallTarget, plan: InstallPlan) -> None:
    """Carry out the plan. Raises a PassdownError if the host refuses; `uninstall` then undoes the rest.

    1. The previous state is recorded before anything changes.
    2. The host writes the plugin to its settings in its own format, so our edit is planned again after that.
    """
    if plan.receipt is not None:  # 1
        target.data.replace(target.receipt, render_receipt(plan.receipt), local=True)
    for edit in plan.files:
        _write(edit)
    for command in plan.commands:
        outcome = target.programs.run(command)
        if not outcome.is_done:
            hint = f"run `passdown uninstall {target.host.name}` to undo what was written"
            raise PassdownError(f"{target.host.title} refused: {_last_line(outcome.text)}", hint=hint)
    for edit in plan.edits:
        again = _plan_settings(target)[0] if edit.file == target.settings else edit  # 2
        if again is not None:
            _write(again)
    if _needs_root(target):
        target.make_root()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_MOST] if lines else "no output"


def _write(edit: FileEdit) -> None:
    """Write a file, unless it has changed since it was read."""
    if edit.file.read() != edit.before:
        hint = "run the command again; nothing was overwritten"
        raise StorageError(f"{edit.file.path} has changed since; it was not written", hint=hint)
    if edit.after is not None:
        edit.file.documents.replace(edit.file.name, edit.after)
    else:
        edit.file.documents.remove(edit.file.name, edit.before or b"")


# --- uninstall ------------------------------------------------------------------------------------


def plan_uninstall(target: InstallTarget) -> InstallPlan:
    """Plan how to remove everything that an install left on this machine; nothing is changed.

    Raises a FormatError if the settings cannot be read.
    """
    noted = _read_noted(target)
    receipt = _read_receipt(target)
    commands, notes = _plan_removal(target, noted)
    receipts = [target.receipt] if target.data.exists(target.receipt) else []
    paths = (*target.data.list(target.place), *receipts)
    files = [UserFile(target.data, path, f"{target.folder}/{path}") for path in paths]
    return InstallPlan(
        files=tuple(FileEdit(file, file.read(), None) for file in files),
        commands=commands,
        edits=(*_plan_undo(target, receipt), *_plan_blocks(target, receipt)),
        notes=notes,
        receipt=receipt,
    )


def _plan_removal(
    target: InstallTarget, noted: PluginRegistration
) -> tuple[tuple[Command, ...], tuple[str, ...]]:
    """Return the commands that remove the plugin, and notes on why there are none."""
    if _is_elsewhere(target, noted):
        return (), (f"the plugin that {target.host.title} has from {noted.source} was not changed",)
    take, forget = target.install.remove
    needed = [*([take] if noted.is_noted else []), *([forget] if noted.source else [])]
    program = target.programs.find(target.install.program)
    if needed and not program:
        return (), (f"{target.install.program} is not on your PATH, so it was not called",)
    return tuple((program, *one) for one in needed), ()


def _plan_undo(target: InstallTarget, receipt: InstallReceipt | None) -> Iterator[FileEdit]:
    """Plan the host's settings without our entries."""
    before = target.settings.read()
    if before is None or _is_elsewhere(target, _read_noted(target)):
        return
    if not target.install.is_json:
        after = _without_roots(target, receipt, before)
        if before != after:
            yield FileEdit(target.settings, before, after)
        return
    text = _read_text(target.settings)
    rules = (*target.install.rules, *target.install.former_rules)
    done = clean_settings(text, rules) if receipt is None else undo_settings(text, _old_text(receipt), rules)
    if done != text:
        yield FileEdit(target.settings, before, None if done is None else done.encode())


def _without_roots(target: InstallTarget, receipt: InstallReceipt | None, before: bytes) -> bytes | None:
    """Return TOML settings without the folders that we added.

    The host removes its own lines, but leaves a line ending, or an empty file where there was none.
    """
    if receipt is None:
        return before
    text = drop_roots(_read_text(target.settings), receipt.roots, _old_text(receipt) or "")
    return receipt.before if text.strip() == (_old_text(receipt) or "").strip() else text.encode()


def _old_text(receipt: InstallReceipt) -> str | None:
    return None if receipt.before is None else receipt.before.decode("utf-8", "replace")


def _plan_blocks(target: InstallTarget, receipt: InstallReceipt | None) -> Iterator[FileEdit]:
    """Plan the instruction files without our block."""
    for path in receipt.instructions if receipt else ():
        # A deleted project has no file to edit.
        with suppress(StorageError):
            file = target.open_file(path)
            before = file.read()
            after = remove_block(before or b"", in_markdown=True)
            if before is not None and after != before:
                is_ours = not after and receipt is not None and path in receipt.made
                yield FileEdit(file, before, None if is_ours else after)


def uninstall(target: InstallTarget, plan: InstallPlan) -> tuple[str, ...]:
    """Carry out the plan and return what the host refused; everything else is done anyway.

    The receipt is removed last, so that the next call finds it after an interruption.
    """
    notes: list[str] = []
    for command in plan.commands:
        outcome = target.programs.run(command)
        if not outcome.is_done:
            notes.append(f"{target.host.title} refused: {_last_line(outcome.text)}")
    for edit in (
        *_plan_undo(target, plan.receipt),
        *(one for one in plan.edits if one.file != target.settings),
    ):
        _write(edit)
    for edit in plan.files:
        _write(edit)
    target.sweep()
    return tuple(notes)
