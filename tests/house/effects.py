"""Rules about caught errors, the clock, the disk and the shell."""

import ast
import re
from collections.abc import Iterator
from types import MappingProxyType

from tests.house.tree import PACKAGE, Finding, Module, calls, dotted, imports, references, walk, words

# The only files that may catch every exception: each reports what it caught.
ENTRY_POINTS = frozenset(
    {
        "faces/cli/main.py",
        "faces/hooks/main.py",
        "faces/hooks/quick.py",
        "faces/mcp/server.py",
        "faces/web/server.py",
    }
)
SYSTEM = "engines/system.py"

# Imports of the clock's module that are allowed outside engines/system.py.
CLOCK_READERS = MappingProxyType({"faces/hooks/quick.py": frozenset({"time"})})
# The modules that may change files, and how: "write" covers contents and folders, "move" rename and delete.
WRITERS = MappingProxyType(
    {
        "engines/files/write.py": frozenset({"write", "move"}),
        "engines/files/archive.py": frozenset({"move"}),
        "engines/files/displaced.py": frozenset({"move"}),  # displaced files, once they were read
        "engines/files/locks.py": frozenset({"move"}),  # lock files that nobody holds
        "engines/sqlite/database.py": frozenset({"move"}),  # discards a damaged cache
        "engines/scratch.py": frozenset({"write", "move"}),  # a folder outside of projects
    }
)
_OS_WRITES = words(
    "write pwrite writev pwritev fsync fdatasync truncate ftruncate mkdir makedirs mkfifo mknod "
    "link symlink chmod chown utime fdopen sendfile copy_file_range"
)
_OS_MOVES = words("rename renames replace unlink remove rmdir removedirs")
_SHUTIL_WRITES = words(
    "copy copy2 copyfile copyfileobj copymode copystat copytree chown make_archive unpack_archive"
)
_SHUTIL_MOVES = frozenset({"move", "rmtree"})
_PATH_WRITES = words("write_text write_bytes touch mkdir symlink_to hardlink_to chmod lchmod")
_PATH_MOVES = frozenset({"unlink", "rmdir"})
_ONE_ARGUMENT_MOVES = frozenset({"rename", "replace"})
_OPENERS = words(
    "open builtins.open io.open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile"
)
_READ_FLAGS = words("O_RDONLY O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_BINARY O_NONBLOCK O_NOINHERIT O_NOATIME")
# The only modules that open files for reading, list folders or search them.
READERS = frozenset({"engines/files/read.py", "engines/files/write.py"})
# Other modules that may do one of these things, and why.
READING_EXCEPTIONS = MappingProxyType(
    {
        # Runs at every prompt; loading the module that reads files would double its time.
        "faces/hooks/quick.py": frozenset({"os.open"}),
        # SQLite opens its own files; `wiring/caches.py` looks at their paths first.
        "engines/sqlite/database.py": frozenset({"sqlite3.connect"}),
        "engines/sqlite/event_copy.py": frozenset({"sqlite3.connect"}),
        # Looks for programs in the user's PATH; opens nothing.
        "engines/programs.py": frozenset({"shutil.which"}),
        "engines/user_folders.py": frozenset({"shutil.which"}),
    }
)
_OS_READS = words("open fdopen scandir listdir walk fwalk popen")
_READING_MODULES = words(
    "glob linecache fileinput mmap zipfile tarfile gzip bz2 lzma zipimport importlib.resources pkgutil "
    "shutil filecmp configparser dbm shelve"
)
_READING_CALLS = words(
    "io.open io.FileIO io.open_code codecs.open tokenize.open sqlite3.connect tomllib.load json.load"
)
_PATH_READS = words("read_text read_bytes iterdir glob rglob walk scandir listdir")
_CLOCK_CALLS = words(
    "datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today "
    "os.urandom os.getrandom os.times"
)
_CLOCK_MODULES = frozenset({"time", "random", "secrets", "uuid"})
# The caller's environment, folder and terminal: only faces look at their own, and pass them on.
_SURROUNDINGS = words(
    "os.environ os.environb os.getenv os.getenvb os.getcwd os.getcwdb os.path.expanduser os.path.expandvars "
    "os.get_terminal_size os.isatty shutil.get_terminal_size pathlib.Path.cwd pathlib.Path.home "
    "sys.argv sys.orig_argv sys.stdin sys.stdout sys.stderr"
)
_TERMINAL_METHODS = frozenset({"isatty", "expanduser"})
# Other modules that may read one of them, and why.
SURROUNDINGS_READERS = MappingProxyType(
    {
        # The default environment of git; what wiring opens gets the caller's environment.
        "engines/git/repository.py": frozenset({"os.environ"}),
        # Where the driver will connect: it reads PGHOST and PGPORT of this process itself.
        "engines/postgres/reachability.py": frozenset({"os.environ"}),
    }
)
_SHELLS = words(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput "
    "asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell"
)


def rule_broad_except(module: Module) -> Iterator[Finding]:
    """Only entry points catch every exception; other code catches named ones."""
    if module.path not in ENTRY_POINTS:
        for node in walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and _is_broad(module, node.type):
                yield Finding(node.lineno, "catches everything outside an entry point")
    for call in calls(module.tree):
        if dotted(module, call.func) == "contextlib.suppress" and any(
            _is_broad(module, argument) for argument in call.args
        ):
            yield Finding(call.lineno, "suppresses everything")


def _is_broad(module: Module, caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(module, part) for part in caught.elts)
    return dotted(module, caught).removeprefix("builtins.") in {"Exception", "BaseException"}


def rule_silent_except(module: Module) -> Iterator[Finding]:
    """No handler only passes; use `suppress(NamedError)` with a comment that gives the reason."""
    for node in walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and all(_is_silent(line) for line in node.body):
            yield Finding(node.lineno, "handler does nothing; use contextlib.suppress with a named error")


def _is_silent(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Continue() | ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False


def rule_clock_and_entropy(module: Module) -> Iterator[Finding]:
    """Only engines/system.py reads the clock or makes random bytes."""
    if module.path == SYSTEM:
        return
    forbidden = _CLOCK_MODULES - CLOCK_READERS.get(module.path, frozenset())
    for imported in imports(module):
        if imported.module.partition(".")[0] in forbidden:
            yield Finding(imported.line, f"import of {imported.module}; take a Clock or Entropy")
    for line, name in references(module, _CLOCK_CALLS):
        yield Finding(line, f"{name}; take a Clock or Entropy")


def rule_disk_writes(module: Module) -> Iterator[Finding]:
    """Only engines/files/write.py writes; the archiver may move and delete."""
    granted = WRITERS.get(module.path, frozenset())
    for imported in imports(module):
        if imported.module.partition(".")[0] == "tempfile" and "write" not in granted:
            yield Finding(imported.line, "import of tempfile")
    for call in calls(module.tree):
        kind, what = _disk_effect(module, call)
        if kind and kind not in granted:
            yield Finding(call.lineno, f"{what} outside engines/files/write.py")


def rule_disk_reads(module: Module) -> Iterator[Finding]:
    """Only engines/files/read.py opens files and lists folders; write.py opens what it writes."""
    if module.path in READERS:
        return
    granted = READING_EXCEPTIONS.get(module.path, frozenset())
    for imported in imports(module):
        if imported.module in _READING_MODULES and not any(
            name.startswith(f"{imported.module}.") for name in granted
        ):
            yield Finding(imported.line, f"import of {imported.module}; use engines/files/read.py")
    for call in calls(module.tree):
        name = dotted(module, call.func)
        if _reads_disk(name, call) and name not in granted:
            yield Finding(call.lineno, f"{name} outside engines/files/read.py")


def _reads_disk(name: str, call: ast.Call) -> bool:
    folder, _, last = name.rpartition(".")
    if name.startswith(f"{PACKAGE}."):
        return False
    if folder == "os":
        return last in _OS_READS
    if name in {"open", "builtins.open", *_READING_CALLS} or name.partition(".")[0] in _READING_MODULES:
        return True
    # `path.open()` and `path.open("rb")` are files; `loops.open(task)` is not.
    opens = last == "open" and all(isinstance(argument, ast.Constant) for argument in call.args)
    return bool(folder) and (opens or last in _PATH_READS)


def _disk_effect(module: Module, call: ast.Call) -> tuple[str, str]:
    """Return `("write" | "move" | "", what)` for one call."""
    name = dotted(module, call.func)
    if name.startswith(f"{PACKAGE}."):
        return "", ""
    if name == "os.open":
        return ("", "") if _reads_only(module, call) else ("write", "os.open for writing")
    folder, _, last = name.rpartition(".")
    table = {"os": (_OS_WRITES, _OS_MOVES), "shutil": (_SHUTIL_WRITES, _SHUTIL_MOVES)}
    if folder in table:
        writes, moves = table[folder]
        return ("write" if last in writes else "move" if last in moves else ""), name
    if last == "open" or name in _OPENERS:
        return ("write", f"{last} for writing") if _opens_to_write(name, call) else ("", "")
    return _path_effect(name, last, call) if folder else ("", "")


def _path_effect(name: str, last: str, call: ast.Call) -> tuple[str, str]:
    if last in _PATH_WRITES:
        return "write", f".{last}()"
    # str.replace takes two arguments and datetime.replace keywords; Path.replace takes one.
    one = len(call.args) == 1 and not call.keywords and name != "passdown.records.replace"
    if last in _PATH_MOVES or (last in _ONE_ARGUMENT_MOVES and one):
        return "move", f".{last}()"
    return "", ""


def _opens_to_write(name: str, call: ast.Call) -> bool:
    """Return whether the mode writes or is unknown; `open(file, mode)` or `path.open(mode)`."""
    position = 1 if name in _OPENERS else 0
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes = given or call.args[position : position + 1]
    match modes:
        case []:
            return False
        case [ast.Constant(value=str(mode))]:
            return bool(re.fullmatch(r"[rwaxbtU+:|gz2]+", mode) and set(mode) & set("wax+"))
        case [ast.Name(id=word) | ast.Attribute(attr=word)] if not given and not position:
            return word.endswith("mode")  # `loops.open(task)` is not a file
        case _:
            return True


def _reads_only(module: Module, call: ast.Call) -> bool:
    """Return whether every flag of an os.open only reads."""
    flags = call.args[1:2] or [word.value for word in call.keywords if word.arg == "flags"]
    return bool(flags) and _read_flags(module, flags[0])


def _read_flags(module: Module, flags: ast.expr) -> bool:
    match flags:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _read_flags(module, left) and _read_flags(module, right)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=flag), *_]):
            return flag in _READ_FLAGS
        case ast.Name(id=name) if (value := _constant(module, name)) is not None:
            return _read_flags(module, value)
        case _:
            folder, _, last = dotted(module, flags).rpartition(".")
            return folder == "os" and last in _READ_FLAGS


def _constant(module: Module, name: str) -> ast.expr | None:
    """Return the value assigned to a name at the top of the module."""
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return value
            case ast.AnnAssign(target=ast.Name(id=found), value=value) if found == name:
                return value
    return None


def rule_environment(module: Module) -> Iterator[Finding]:
    """Below the faces no code reads environment, terminal or current folder: one may serve many (C136)."""
    if module.parts[0] == "faces":
        return
    granted = SURROUNDINGS_READERS.get(module.path, frozenset())
    for line, name in references(module, _SURROUNDINGS - granted):
        yield Finding(line, f"{name}; take it from the caller")
    for call in calls(module.tree):
        name = dotted(module, call.func)
        if name not in _SURROUNDINGS and name.rpartition(".")[2] in _TERMINAL_METHODS:
            yield Finding(call.lineno, f"{name}; take it from the caller")


def rule_no_shell(module: Module) -> Iterator[Finding]:
    """Nothing is passed to a shell."""
    yield from references(module, _SHELLS)
    for call in calls(module.tree):
        for keyword in call.keywords:
            if keyword.arg == "shell" and not _is_false(keyword.value):
                yield Finding(call.lineno, "shell=True")


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False
