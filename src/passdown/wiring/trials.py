"""Makes a temporary repository for a trial, and runs programs in it as an agent would."""

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from passdown import layout
from passdown.engines.files.write import make_folder
from passdown.engines.programs import SystemPrograms
from passdown.engines.scratch import scratch_folder
from passdown.engines.user_folders import emptied, find_own_program
from passdown.errors import PassdownError
from passdown.wiring.installs import OwnProgram

Run = Callable[[Sequence[Sequence[str]]], Sequence[str]]
"""Runs commands one after the other in one process, which then ends; returns what each printed.

A command that begins with our name is run by the program that is running now.
"""

_AGENT: Final = """\
import json, subprocess, sys
for command in json.loads(sys.argv[1]):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(json.dumps([done.returncode, done.stdout.decode("utf-8", "replace")]), flush=True)
"""
"""An agent: a process that runs commands. When it ends, its session has crashed, unless it was ended."""


@contextmanager
def open_trial(own: OwnProgram) -> Generator[Run, None, None]:
    """Make a repository in a temporary folder, with a home of its own; both are removed at the end."""
    program = find_own_program(own.called, own.folder, own.variables)
    with scratch_folder() as folder:
        home, root = folder / layout.TRIAL_HOME, folder / layout.TRIAL_PROJECT
        for one in (home, root):
            make_folder(one, root=str(folder))
        programs = SystemPrograms(str(root), variables=_make_variables(home, own.variables))
        if not programs.find("git"):
            raise PassdownError(
                "git was not found", hint="install git; sessions share their events through it"
            )

        def run(commands: Sequence[Sequence[str]]) -> Sequence[str]:
            called = [[*program, *one[1:]] if one[0] == layout.OURS else list(one) for one in commands]
            done = programs.run([sys.executable, "-c", _AGENT, json.dumps(called)])
            answers = [json.loads(line) for line in done.text.splitlines() if done.is_done]
            failed = [text for code, text in answers if code]
            if not done.is_done or failed:
                reason = (failed or [done.text])[0].strip().splitlines()
                raise PassdownError(
                    f"the trial stopped: {reason[0] if reason else 'a program ended early'}",
                    hint="nothing was left behind; `passdown doctor` may say what is wrong here",
                )
            return [text for _, text in answers]

        yield run


def _make_variables(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the caller's settings, hosts and sessions."""
    person = {"NAME": "Ann", "EMAIL": "ann@example.invalid"}
    return {
        **emptied(variables),
        "PATH": variables.get("PATH", os.defpath),
        "HOME": str(home),
        "USERPROFILE": str(home),
        "LOCALAPPDATA": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in person.items()},
        "COLUMNS": "80",
        "PYTHONUTF8": "1",
    }
