"""The name of every file and folder that Passdown creates or looks for.

Hooks load this module at every prompt, so it imports nothing and touches no file. The folders of a project
are defaults: `[paths]` in the settings can name others.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = "passdown.toml"
"""The settings file of a project; hooks do nothing in a project without one."""
GIT = ".git"
GIT_PARTS = ("HEAD", "objects")
"""Parts of every intact git folder; a folder that has none of them is not git's."""
OURS = "passdown"
"""Our folder, below git's own folder and below the user's folders."""
USER_SETTINGS = "settings.toml"

MIGRATIONS = "migrations"
"""The folder of a database's migrations, in the package."""

TRIAL_HOME = "home"
TRIAL_PROJECT = "shop"
"""The folders of `passdown try`, in a temporary one."""

# --- a project, below its root: the defaults of `[paths]` -----------------------------------------

CURRENT = "current.md"
LEDGER = "LEDGER.md"
LEDGERS = "conductor/sessions/active"
ARCHIVE = "conductor/sessions/archive"
HANDOFFS = "thoughts/shared/handoffs"
EVENTS = f"{HANDOFFS}/events"
EVENT_ARCHIVE = f"{HANDOFFS}/archive"
VIEW = f"{HANDOFFS}/{CURRENT}"
RUNTIME = ".conductor"
LOOPS = "changes"
TRACKS = "conductor/tracks"
DESIGN = "design.md"
SPEC = "spec.md"
PLAN = "plan.md"
"""The documents of a track or a change."""
PRODUCT = "conductor/product.md"
TECH_STACK = "conductor/tech-stack.md"
CODEMAPS = "conductor/CODEMAPS"
"""Documents of other tools about the whole project."""
LOOP_FOLDER = "loops"
"""The folder of a change's loop ledgers."""
CHANGE_STATE = "state.md"
CHANGE_PROPOSAL = "proposal.md"
CHANGE_TASKS = "tasks.md"
CHANGE_THOUGHTS = "thoughts"
CHANGE_SPECS = "specs"
CHANGE_PLANS = "plans"
_DOCUMENT = ".md"
OLD_LEDGERS = "thoughts/ledgers"
"""Where older tools kept ledgers."""

# --- local state: below `OURS` in git's folder, or below the runtime folder of a checkout -----------

JOURNALS = "journal"
ENDED = "ended"
"""Holds the journals that were archived, by year and month; below the folder of journals."""
CACHE = "cache"
ENDED_INDEX = "ended.sqlite"
"""By what these journals are found; below the cache."""
TRACKED = "tracked.json"
"""What large indexes of git hold, by the first letter of a path; below the cache."""
PAUSED = "paused"
WAITING = "waiting"
"""Holds one file for each session that gets something at its next prompt: empty for a brief, else mail."""
CONTEXT_LEVELS = "levels"
"""Holds one file for each session whose host reports how full its context is."""
SIGNALS = "signals"
"""Holds one file for each session that was compacted or shows signs of getting worse."""
COORDINATION = "coordination.sqlite"
"""The coordination database, one for all checkouts of a clone."""
COORDINATION_CHANGES = "coordination"
"""Copies of it and the changes since then, from which a lost database is restored."""
COORDINATION_COPY = "reservations.sqlite"
"""A copy of what the server last said about sessions, files and tasks, for when it cannot be reached."""
ENGINE_AWAY = "engine-away.json"
"""Records when the coordination engine last failed to answer."""
OUTBOX = "outbox"
"""Holds one file for each session that writes to the tracker, locked while it writes."""
HISTORY = "history"
"""Holds the imported transcripts of old sessions: a folder for each host."""
HISTORY_COUNTS = "files.txt"
"""Says how many imported sessions edited each file; a brief reads it, and nothing else of history."""
SETTLED = "outbox.json"
"""Records which journals had nothing left for the tracker when they were last read."""
HOOK_LOG = "hooks.log"
COSTS = "metrics.jsonl"
PREFERENCES = "preferences.json"
LOOP_READINGS = "loops.json"
"""What was last read from the loop ledgers of this checkout."""
ENDED_CHANGES = "ended-changes.json"
"""The finished changes, whose loop ledgers are not read again."""
LAST_CHECKPOINT = "last-checkpoint-commit.txt"
TO_COMMIT = "to-commit.txt"
"""Exists while a running session has published something that may not be committed yet."""
TO_SYNTHESIZE = "to-synthesize.txt"
"""Exists while the local view may lack an event."""
COMMITTED_FOLDERS = "committed-folders.json"
"""Records the folders of ours that held nothing new when they were last compared with a commit."""
TO_COMMIT_VIEW = "to-commit-view.txt"
"""Exists while events are committed but the tracked view that includes them is not."""
ARCHIVING = "archiving.txt"
"""Exists while archived events may not be committed yet."""
ARCHIVER = "archives-here.txt"
"""Exists in a clone that a person chose to archive the project's events."""
SESSION_STATE = "session-state_"
JSON = ".json"
_JSON_LINES = ".jsonl"
ADDRESSED = "handoff_"
"""How the file names of handoffs to one agent start."""
PROCESSED = "processed_handoffs"
"""Holds the handoffs that were shown to their agent."""
PENDING_UPDATES = "pending_updates.jsonl"
PENDING_CLOSES = "pending_closes.jsonl"
UNSYNCED = "unsynced.json"
UNSYNCED_TASKS = "unsynced_beads.txt"
"""Changes that wait for the tracker, in the form of older tools."""
EDITED_VIEW = "edited-view-"
LEGACY_VIEW = "legacy-current-"
SESSION_CONTEXT = "session-context"
_DOCUMENTS = (ADDRESSED, SESSION_CONTEXT, "pending_", "unsynced", EDITED_VIEW, LEGACY_VIEW)
"""How the names of documents in the runtime folder start; they are text and not state of the machine."""

# --- the user's own folders -----------------------------------------------------------------------

PLUGINS = "plugins"
INSTALLS = "installs"
NOTICES = "rests.log"
"""Lists the repositories in which the user was already told that Passdown is not set up."""

BEADS_MEMORY = "beads.json"
"""What is known about the builds of `bd` on this machine and the databases they used."""
BEADS = ".beads"
BEADS_DATABASES = ("beads.db", "embeddeddolt", "dolt", "metadata.json")
"""The folder of Beads in a project, and the files in it that show a database."""


def beads_lock(digest: str) -> str:
    """Return the name of the lock for a Beads database, from the hash of its folder."""
    return f"beads-{digest}.lock"


# --- files of git and of a host's plugin ----------------------------------------------------------

GIT_COMMON = "commondir"
GIT_INFO = "info"
EXCLUDE = f"{GIT_INFO}/exclude"
IGNORE = ".gitignore"
ATTRIBUTES = ".gitattributes"
GIT_HOOKS = "hooks"
PRE_COMMIT = "pre-commit"
PRE_MERGE_COMMIT = "pre-merge-commit"
PRE_PUSH = "pre-push"
PRE_COMMIT_FILE = ".pre-commit-config.yaml"
LEFTHOOK_FILE = "lefthook.yml"
"""Files that configure what the hooks of these tools run."""


def git_hook(name: str) -> str:
    """Return the path of a hook in git's folder."""
    return f"{GIT_HOOKS}/{name}"


def in_git(name: str) -> str:
    """Return the path of a file of local state below git's folder."""
    return f"{OURS}/{name}"


def shown_in_git(path: str) -> str:
    """Return a path below git's folder in the form shown to users."""
    return f"{GIT}/{path}"


def plugin_folder(host: str) -> str:
    """Return the folder of the plugin for a host, below the user's data folder."""
    return f"{PLUGINS}/{host}"


def install_receipt(host: str) -> str:
    """Return the path of the file that records what an install changed in a host."""
    return f"{INSTALLS}/{host}.json"


def session_state(runtime: str, agent: str) -> str:
    """Return the path of a session's state file."""
    return f"{runtime}/{SESSION_STATE}{agent}.json"


def state_owner(path: str) -> str:
    """Return whose state file a file is, by its name; an empty string if it is not one."""
    name = path.rpartition("/")[2]
    is_state = name.startswith(SESSION_STATE) and name.endswith(JSON)
    return name.removeprefix(SESSION_STATE).removesuffix(JSON) if is_state else ""


def session_context(runtime: str, agent: str = "") -> str:
    """Return the path of an anchored context; without an agent, that of the first session of a checkout."""
    return f"{runtime}/{SESSION_CONTEXT}{f'_{agent}' if agent else ''}.md"


def paper(folder: str, track: str, name: str) -> str:
    """Return the path of a document of a track or a change."""
    return f"{folder}/{track}/{name}"


def handoff_name(sender: str, to: str, number: int = 1) -> str:
    """Return the file name of a handoff to one agent; further ones for the same pair get a number."""
    again = f".{number}" if number > 1 else ""
    return f"{ADDRESSED}{sender}{again}_to_{to}{JSON}"


def handoff_addressee(name: str) -> str:
    """Return whom a handoff is for, by its file name; an empty string if it is not a handoff to one agent."""
    if not (name.startswith(ADDRESSED) and name.endswith(JSON)):
        return ""
    return name.removesuffix(JSON).rpartition("_to_")[2] if "_to_" in name else ""


def change_state(changes: str, change: str) -> str:
    """Return the path of the state of a change."""
    return f"{changes}/{change}/{CHANGE_STATE}"


def loop_ledger(changes: str, change: str, loop: str) -> str:
    """Return the path of the ledger of a loop."""
    return f"{changes}/{change}/{loop_file(loop)}"


def loop_file(loop: str) -> str:
    """Return the path of the ledger of a loop, relative to its change's folder."""
    return f"{LOOP_FOLDER}/{loop}{_DOCUMENT}"


def loop_of(path: str) -> str:
    """Return the loop of a ledger, from its path in the change's folder; empty if it is not a ledger."""
    folder, _, name = path.rpartition("/")
    return name.removesuffix(_DOCUMENT) if folder == LOOP_FOLDER and name.endswith(_DOCUMENT) else ""


def is_change_file(path: str) -> bool:
    """Return whether a file in a change's folder is the change's state or a loop's ledger."""
    return path == CHANGE_STATE or bool(loop_of(path))


def change_document(changes: str, change: str, name: str) -> str:
    """Return the path of another document of a change."""
    return f"{changes}/{change}/{name}"


def cache(what: str, digest: str) -> str:
    """Return the file name of a checkout's cache, from the hash of its root."""
    return f"{what}-{digest}.sqlite"


def cache_owner(digest: str) -> str:
    """Return the file name of the note that says whose a checkout's caches are."""
    return f"checkout-{digest}.txt"


def lock_name(name: str) -> str:
    """Return the name or path of the lock file for a file."""
    return f"{name}.lock"


def database_copy(path: str, version: int) -> str:
    """Return the path of the copy of a database from before its migration from a version."""
    return f"{path}.v{version}"


def history_folder(digest: str = "") -> str:
    """Return the folder of history: below git's folder, or below the user's state for a project without git.

    There, the hash of the project's root keeps projects apart.
    """
    return f"{HISTORY}/{digest}" if digest else in_git(HISTORY)


def history_file(host: str, name: str) -> str:
    """Return the path of a history file, below the folder of history."""
    return f"{host}/{name}{_JSON_LINES}"


def history_counts() -> str:
    """Return the path below git's folder of the counts of imported sessions by file."""
    return f"{history_folder()}/{HISTORY_COUNTS}"


def history_session(path: str) -> str:
    """Return the name of a session, from the path of its history file; empty for any other file."""
    name = path.rpartition("/")[2]
    return name.removesuffix(_JSON_LINES) if name.endswith(_JSON_LINES) else ""


def is_machine_state(name: str) -> bool:
    """Return whether a file in the runtime folder counts as state of this machine (C119).

    Everything does, except the view, our ignore file, and the documents of other tools.
    """
    return bool(name) and name not in {CURRENT, IGNORE} and not name.startswith(_DOCUMENTS)


def session_file(session: str) -> str:
    """Return a file name for a host's session id, which may contain characters that file names cannot."""
    return "".join(letter if letter.isalnum() else "-" for letter in session)[:80] or "-"


def user_settings(variables: "Mapping[str, str]", platform: str) -> str:
    """Return the path of the user's settings file, or an empty string if there is no home folder (C69)."""
    if platform == "win32":
        folder = variables.get("APPDATA", "")
    elif platform == "darwin":
        home = variables.get("HOME")
        folder = f"{home}/Library/Application Support" if home else ""
    else:
        folder = variables.get("XDG_CONFIG_HOME", "")
        if not folder.startswith("/"):  # the standard says to ignore such a value
            home = variables.get("HOME")
            folder = f"{home}/.config" if home else ""
    return f"{folder}/{OURS}/{USER_SETTINGS}" if folder else ""


# --- reading the runtime folder without a TOML parser -------------------------------------------------

RUNTIME_VARIABLE = "PASSDOWN_PATHS_RUNTIME"

_KEY_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_PATH_CHARACTERS = _KEY_CHARACTERS | {".", "/"}
_ESCAPES = ("\\u", "\\U", "\\x")


def read_runtime(text: str) -> "str | None":
    """Return the runtime folder that a settings file names: empty if it names none, None if unsure.

    This reads only sections, and keys with a plain value on one line. Anything else that could name the
    folder is left to the full settings reader; the two agree on every valid file.
    """
    if "runtime" not in text and not any(escape in text for escape in _ESCAPES):
        return ""
    section = found = ""
    for line in text.split("\n"):
        read = _read_line(line.strip(" \t\r"))
        if read is None:
            return None
        key, value = read
        if key == "[":
            section = value
        elif (section, key) == ("paths", "runtime"):
            plain = plain_path(value)
            if plain is None:
                return None
            found = plain
    return found


def _read_line(line: str) -> "tuple[str, str] | None":
    """Return the key and value of a line, or `[` and a section's name; None if it holds more than that."""
    if not line or line[0] == "#":
        return "", ""
    if line[0] == "[":
        name, end, rest = line[1:].partition("]")
        name = name.strip(" \t")
        return ("[", name) if end and _is_key(name) and _is_comment(rest) else None
    key, _, rest = line.partition("=")
    key = key.strip(" \t")
    value = _read_value(rest.strip(" \t"))
    return (key, value) if value is not None and _is_key(key) else None


def _read_value(text: str) -> "str | None":
    """Return a plain string, or another plain value prefixed with `=`; None for anything else."""
    quote = text[:1]
    if quote in {'"', "'"}:
        inner, end, rest = text[1:].partition(quote)
        return inner if end and "\\" not in inner and _is_comment(rest) else None
    word = text.partition("#")[0].rstrip(" \t")
    return f"={word}" if word.isascii() and word.isalnum() else None


def _is_key(text: str) -> bool:
    return bool(text) and _KEY_CHARACTERS.issuperset(text)


def _is_comment(rest: str) -> bool:
    return rest.strip(" \t")[:1] in {"", "#"}


def plain_path(text: str) -> "str | None":
    """Return a path within the project in its normal form; None if only the full settings reader can tell."""
    if not _PATH_CHARACTERS.issuperset(text) or text.startswith("/"):
        return None
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if any(part == ".." or part.lower() == GIT for part in parts):
        return None
    return "/".join(parts) or None
