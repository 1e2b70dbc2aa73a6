"""Kill forked children in the middle of a verb, round after round: `python -m tests.faults.sessions.killing`.

It is a process of its own, with one thread, so that it may fork. Arguments: folder, number of kills, seed.
Prints one JSON object: hits by verb, and whatever was wrong.
"""

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from passdown.engines.process import SystemProcesses
from tests.faults.sessions.lives import KINDS, VERBS, call, find_torn, leftovers, own_host, said, unpublished

LONGEST = 0.04
TRIES = 6


def run_child(verb: str, report: int) -> NoReturn:
    """Repeat a verb without end, and tell when it begins and when it was acknowledged."""
    SystemProcesses.find_host = own_host  # type: ignore[method-assign,assignment]
    number = 0
    code = 0 if verb == "start" else call("start")
    while code == 0:
        number += 1
        text = f"{verb} {number}"
        if verb == "end" and number > 1:
            call("start")
        if verb == "end":
            call("done", text)
        if verb == "publish":
            call("done", text)
        if verb == "answer":
            call("ask", "why?")
        os.write(report, f"begin {text}\n".encode())
        code = call(*VERBS[verb](text))
        os.write(report, f"ack {text}\n".encode())
    os._exit(70)


def fork(work: "object", *arguments: object) -> int:
    """Run a function in a forked child whose output nobody reads."""
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until we die
    try:
        work(*arguments)  # type: ignore[operator]  # one of ours
    finally:
        os._exit(70)


def read_lines(report: int) -> list[str]:
    """Read what a child told until it died."""
    data = b""
    while part := os.read(report, 65_536):
        data += part
    return data.decode().splitlines()


def kill_once(verb: str, random_numbers: random.Random) -> list[str]:
    """Let a child begin, kill it at a random moment, and give what it told."""
    ours, theirs = os.pipe()
    child = fork(run_child, verb, theirs)
    os.close(theirs)
    select.select([ours], [], [])  # the first verb begins, or the child is gone
    deadline = time.perf_counter() + random_numbers.uniform(0, LONGEST)
    while time.perf_counter() < deadline:
        pass
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    told = read_lines(ours)
    os.close(ours)
    assert os.WIFSIGNALED(status), (verb, status, told[-3:])
    return told


def start_again() -> None:
    """Start as the next session does."""
    SystemProcesses.find_host = own_host  # type: ignore[method-assign,assignment]
    os._exit(call("start"))


def run_round(root: Path, verb: str, random_numbers: random.Random) -> tuple[bool, list[str]]:
    """Kill one child; answer whether it was in the verb, and what was wrong afterwards."""
    os.chdir(root)
    told = kill_once(verb, random_numbers)
    wrong = [f"torn after {verb}: {path}" for path in find_torn(root)]
    acknowledged = {line.removeprefix("ack ") for line in told if line.startswith("ack ")}
    known = said(root)
    kind = KINDS.get(verb)
    if kind and verb not in {"publish", "end"}:
        wrong += [f"lost: {text}" for text in acknowledged if (kind, text) not in known]
    if verb in {"publish", "end"}:
        wrong += [f"lost: {text}" for text in acknowledged if ("done", text) not in known]
    _, status = os.waitpid(fork(start_again), 0)
    if os.waitstatus_to_exitcode(status):
        wrong.append(f"start after {verb} ended with {os.waitstatus_to_exitcode(status)}")
    wrong += [f"left over after {verb}: {path}" for path in leftovers(root)]
    wrong += [f"torn after the start after {verb}: {path}" for path in find_torn(root)]
    wrong += [f"not published: {text}" for text in unpublished(root)]
    if not said(root) >= known:
        wrong.append(f"gone after the start after {verb}")
    return bool(told) and told[-1].startswith("begin "), wrong


def main() -> None:
    """Run the rounds, verb after verb."""
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    random_numbers = random.Random(seed)  # moments, not secrets
    template = folder / "template"
    subprocess.run(["git", "init", "-q", "-b", "main", str(template)], check=True)
    call_quietly(template)
    hits = dict.fromkeys(VERBS, 0)
    wrong: list[str] = []
    names = list(VERBS)
    for number in range(rounds):
        verb, root = names[number % len(names)], folder / "project"
        for _ in range(TRIES):  # a kill between two calls of the verb is checked, too, but counts for nothing
            shutil.copytree(template, root)
            is_hit, found = run_round(root, verb, random_numbers)
            wrong += [f"round {number}: {one}" for one in found]
            os.chdir(folder)
            shutil.rmtree(root)
            if is_hit:
                hits[verb] += 1
                break
    sys.stdout.write(json.dumps({"hits": hits, "wrong": wrong}))


def call_quietly(template: Path) -> None:
    """Load all that verbs need once, before anything is forked."""

    def warm_up() -> None:
        SystemProcesses.find_host = own_host  # type: ignore[method-assign,assignment]
        for name in ("start", "done", "publish", "end"):
            call(*VERBS[name]("warm"))

    warm = template.parent / "warm"
    shutil.copytree(template, warm)
    os.chdir(warm)
    out = sys.stdout
    with open(os.devnull, "w", encoding="utf-8") as sys.stdout:  # nobody reads it
        warm_up()
    sys.stdout = out
    os.chdir(template.parent)
    shutil.rmtree(warm)


if __name__ == "__main__":
    main()
