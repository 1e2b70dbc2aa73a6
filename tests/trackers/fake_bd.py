"""A `bd` that keeps its tasks in a file, with the shapes and the quirks of three builds.

It passes the suite for trackers, as the real builds do (`tests/conformance/test_trackers.py`), so that tests
at the desk may use it. Run as a program, it is the `bd` of tests that call commands.
"""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from passdown.ports.programs import ProgramResult

BUILDS = ("0.44.0", "1.0.0", "1.3.0")
_HELP = {
    "0.44.0": "--notes --claim --no-auto-flush --no-auto-import",
    "1.0.0": "--notes --append-notes --set-metadata --claim",
    "1.3.0": "--notes --append-notes --set-metadata --claim --if-status",
}
LEASE_ENDS, RENEWED = "2999-01-11T12:05:00Z", "2999-01-11T12:10:00Z"
LATER = "2999-01-11T12:00:00Z"
"""When all tasks are made."""
Row = dict[str, Any]


class RefusedCallError(Exception):
    """The command fails: a code, and what is printed."""

    def __init__(self, code: int, out: str = "", err: str = "") -> None:
        """Keep them."""
        super().__init__(err or out)
        self.result = ProgramResult(code, out, err)


class FakeBd:
    """One build, over one folder."""

    def __init__(self, version: str, folder: Path) -> None:
        """Keep its tasks in a file of the folder."""
        self.version = version
        self._file = folder / "beads.db"

    def run(self, command: list[str]) -> ProgramResult:
        """Run a command."""
        try:
            return self._run(command)
        except RefusedCallError as refused:
            return refused.result

    def _run(self, command: list[str]) -> ProgramResult:
        verb = command[0]
        if verb == "version":
            return ProgramResult(0, json.dumps({"version": self.version, "build": "dev"}), "")
        if "--help" in command:
            has_help = verb != "sync" or self.version != "1.0.0"
            return ProgramResult(0 if has_help else 1, _HELP[self.version] if has_help else "", "")
        options = _parse(command)
        rows: dict[str, Row] = json.loads(self._file.read_text()) if self._file.exists() else {}
        answer = getattr(self, f"_{verb}")(rows, options)
        self._file.write_text(json.dumps(rows))
        return ProgramResult(0, answer if isinstance(answer, str) else json.dumps(answer), "")

    # --- looking ------------------------------------------------------------------------------------

    def _show(self, rows: dict[str, Row], options: Namespace) -> object:
        row = self._find(rows, options.words[0], "show")
        if self.version == "1.3.0":
            return [_said(row)]
        waits = [{**_said(rows[one]), "dependency_type": "blocks"} for one in row["waits"]]
        return [{**_said(row), **({"dependencies": waits} if waits else {})}]

    def _ready(self, rows: dict[str, Row], options: Namespace) -> object:
        del options
        states = {"open", "in_progress"} if self.version == "0.44.0" else {"open"}
        found = [row for row in rows.values() if row["status"] in states and not _open_waits(rows, row)]
        return [_said(row) for row in sorted(found, key=lambda row: int(row["priority"]))]

    def _blocked(self, rows: dict[str, Row], options: Namespace) -> object:
        del options
        found = [(row, _open_waits(rows, row)) for row in rows.values() if row["status"] != "closed"]
        return [{**_said(row), "blocked_by_count": len(by), "blocked_by": by} for row, by in found if by]

    def _list(self, rows: dict[str, Row], options: Namespace) -> object:
        found = [_said(row) for row in rows.values() if options.all or row["status"] != "closed"]
        is_wrapped = os.environ.get("BD_JSON_ENVELOPE") and self.version == "1.3.0"
        return {"data": found, "schema_version": 1, "pagination": {}} if is_wrapped else found

    # --- changing -----------------------------------------------------------------------------------

    def _create(self, rows: dict[str, Row], options: Namespace) -> object:
        name = options.id or f"tp-{len(rows) + 1:03x}"
        row: Row = {
            "id": name,
            "title": options.title,
            "description": options.description,
            "status": "open",
            "priority": int(options.priority),
            "assignee": "",
            "created_by": options.actor,
            "created_at": LATER,
            "notes": "",
            "labels": [one for one in options.labels.split(",") if one],
            "close_reason": "",
            "metadata": {},
            "waits": [one for one in options.deps.split(",") if one],
        }
        rows[name] = row
        return {**_said(row), **({"schema_version": 1} if self.version == "1.3.0" else {})}

    def _update(self, rows: dict[str, Row], options: Namespace) -> object:
        row = self._find(rows, options.words[0], "update")
        if options.claim:
            self._claim(row, options)
        if options.status is not None:
            row["status"] = options.status
        if options.assignee is not None:
            row["assignee"] = options.assignee
        if options.notes is not None:
            row["notes"] = options.notes
        if options.append_notes is not None:
            row["notes"] = f"{row['notes']}\n{options.append_notes}" if row["notes"] else options.append_notes
        for one in options.set_metadata:
            name, _, value = one.partition("=")
            row["metadata"][name] = int(value)
        return [_said(row)]

    def _claim(self, row: Row, options: Namespace) -> None:
        holder, me = row["assignee"], options.actor
        if self.version == "1.3.0" and row["status"] == "closed":
            raise RefusedCallError(1, "", f"Error claiming {row['id']}: issue not claimable: status closed")
        if holder and (holder != me or self.version == "0.44.0"):
            code = 0 if self.version == "0.44.0" else 1
            raise RefusedCallError(code, "", f"Error claiming {row['id']}: issue already claimed by {holder}")
        is_kept = holder == me and self.version == "1.0.0"
        row["assignee"], row["status"] = me, row["status"] if is_kept else "in_progress"
        if self.version == "1.3.0":
            row.setdefault("lease_expires_at", LEASE_ENDS)

    def _heartbeat(self, rows: dict[str, Row], options: Namespace) -> object:
        row = self._find(rows, options.words[0], "heartbeat")
        if row["assignee"] != options.actor:
            text = f"heartbeat {row['id']}: issue already claimed by {row['assignee']}"
            raise RefusedCallError(1, "", text)
        row["lease_expires_at"] = RENEWED
        return {"id": row["id"], "owner": options.actor, "schema_version": 1, "status": "heartbeat"}

    def _close(self, rows: dict[str, Row], options: Namespace) -> object:
        row = self._find(rows, options.words[0], "close")
        if self.version == "1.3.0" and row["assignee"] not in {"", options.actor}:
            text = f'cannot close: assignee is "{row["assignee"]}", actor is "{options.actor}"'
            raise RefusedCallError(1, "", text)
        row["status"], row["close_reason"] = "closed", options.reason
        return [_said(row)]

    def _sync(self, rows: dict[str, Row], options: Namespace) -> object:
        del rows
        if self.version == "1.3.0":
            return {"status": "no-remote", "pushed": False}
        return "Exported" if options.flush_only else "Committed"

    def _find(self, rows: dict[str, Row], name: str, verb: str) -> Row:
        """Find a task by its id or the start of it, as bd does."""
        found = [row for row in rows.values() if name in {row["id"], row["id"].removeprefix("tp-")}]
        found = found or [row for row in rows.values() if row["id"].startswith(name)]
        if found:
            return found[0]
        text = f'no issue found matching "{name}"'
        if self.version == "0.44.0" and verb == "show":
            raise RefusedCallError(0, "", f"Error fetching {name}: {text}")
        if self.version == "1.0.0" and verb == "update":
            raise RefusedCallError(1, "", f"Error resolving {name}: {text}")
        raise RefusedCallError(1, json.dumps({"error": f"resolving ID {name}: {text}"}), "")


def _parse(command: list[str]) -> Namespace:
    """Read the words of a command; the library would drop a value that is `--`, which `bd` keeps."""
    hidden = [f"{word}\0" if word.partition("=")[2] == "--" else word for word in command]
    options, _ = _parser().parse_known_args(hidden)
    for name, value in vars(options).items():
        if value == "--\0":
            setattr(options, name, "--")
    return options


def _parser() -> ArgumentParser:
    parser = ArgumentParser(allow_abbrev=False, exit_on_error=False)
    parser.add_argument("verb")
    parser.add_argument("words", nargs="*")
    for name in ("status", "assignee", "notes", "append-notes"):
        parser.add_argument(f"--{name}")
    for name in ("title", "description", "labels", "deps", "id", "reason", "limit", "sort"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--priority", default="2")
    parser.add_argument("--actor", default="unknown")
    parser.add_argument("--set-metadata", action="append", default=[])
    for name in ("json", "all", "claim", "no-auto-flush", "no-auto-import", "flush-only", "no-adopt"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser


def _said(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "waits" and value not in ("", [], {})}


def _open_waits(rows: dict[str, Row], row: Row) -> list[str]:
    return [one for one in row["waits"] if rows[one]["status"] != "closed"]


def install(folder: Path, version: str, *, before: str = "") -> Path:
    """Put it into a folder as the program `bd`; `before` is Python that runs first."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "bd"
    here = Path(__file__).parents[2]
    program.write_text(
        f"#!{sys.executable}\n"
        f"import sys\nsys.path[:0] = [{str(here)!r}, {str(here / 'src')!r}]\n{before}\n"
        f"from tests.trackers.fake_bd import main\nmain({version!r})\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def main(version: str) -> None:
    """Be the program."""
    done = FakeBd(version, Path(os.environ["BEADS_DIR"])).run(sys.argv[1:])
    sys.stdout.write(done.text)
    sys.stderr.write(done.errors)
    sys.exit(done.code)
