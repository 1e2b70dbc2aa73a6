"""Scenes of ordinary work, whose outputs `scripts/outputs` keeps in tests/outputs.

Each scene is a home of its own, in which people and agents type real commands. What is typed while a name
is set is kept in the file of that name; the rest only leads there.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.hosts.fake_hosts import write_program
from tests.stories import Actor, HostedActor, Part, Story
from tests.support.terminals import PROGRAMS, PROMPT, Terminal
from tests.trackers.dying_bd import make_small

NAMED: Final = "named"
"""The kind of a part that names what follows, or ends it with no name."""
ASKS: Final = "]: "
PERSON: Final = "Ann, at her terminal"
FACTS: Final = (
    'passdown goal "People sign in with a cookie"',
    'passdown now "End the session at logout"',
    'passdown next "Remove the old token code" "Write the note"',
    'passdown done "Set the cookie at login"',
    'passdown decide store "Keep sessions in Redis" --because "it expires them"',
    'passdown rule-out "Never put the token into a URL" --because "it ends up in logs"',
    'passdown ask "Do old tokens work for one more week?"',
)
STREAM: Final = """\
# Sign in

## Ledger

**Goal:** People sign in with a cookie

### Now

Move the session to Redis
"""
PLAN: Final = """\
# Plan

## Epic 1: Tokens

- [x] 1.1 Sign tokens (M)
  - Criteria: a token can be verified
  - Deliverable: the module for tokens

## Verification

~~~bash
git diff --check
~~~
"""


class Scene(Story):
    """A story of which only outputs with a name are kept."""

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Keep what is done meanwhile, under a name."""
        self.add(Part(name, NAMED))
        yield
        self.add(Part("", NAMED))

    def take(self, name: str, actor: Actor, *lines: str) -> None:
        """Keep what commands print, however they end."""
        with self.named(name):
            for line in lines:
                actor.types(line, code=None)

    def take_at_terminal(self, name: str, actor: Actor, *lines: str) -> None:
        """Keep what a person sees who types commands at a terminal."""
        with self.named(name):
            for line in lines:
                actor.at_terminal(line)

    def answer(self, name: str, actor: Actor, line: str, *answers: str) -> None:
        """Keep what a person sees who is asked at a terminal, and the exit code."""
        variables = {key: actor.desk.environment[key] for key in ("HOME", "PATH")}
        with self.named(name), Terminal(actor.desk.folder, variables, rows=90) as terminal:
            terminal.run(line, ASKS)
            for word, until in zip(answers, (*(ASKS for _ in answers[1:]), PROMPT), strict=True):
                terminal.type(word, until)
            shown = terminal.type("echo $?").removesuffix(f"{PROMPT}echo $?\n0\n")
            self.add(Part(PROMPT + shown, "console", PERSON))

    def come(self, name: str = "", folder: str = "") -> Actor:
        """Let somebody sit down who finds our programs, git and nothing of this machine's owner."""
        return self._furnish(self.sit(name, folder))

    def come_in_claude(self, name: str = "", folder: str = "shop", session: str = "session-1") -> HostedActor:
        """Let an agent in Claude Code take part."""
        actor = self.host(name, folder, session)
        self._furnish(actor)
        return actor

    def set_up(self, *lines: str, name: str = "") -> Actor:
        """Make the project `shop` in an empty home, and let somebody work in it."""
        actor = self.come(name)
        self.make_shop(actor)
        do(actor, "passdown init --yes")
        self.commit(actor)
        do(actor, *lines)
        return actor

    def make_shop(self, actor: Actor) -> None:
        """Make the repository `shop`, which does not use Passdown yet, and go there."""
        do(actor, "git init --quiet shop")
        actor.desk.type("cd shop")

    def commit(self, actor: Actor) -> None:
        """Commit all files as of the day before: in the second of its start it would be a session's own."""
        dates = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")
        actor.desk.environment.update(dict.fromkeys(dates, "2026-03-01T08:00:00Z"))
        do(actor, "git add .", "git commit --quiet --message Start")
        for date in dates:
            del actor.desk.environment[date]

    def _furnish(self, actor: Actor) -> Actor:
        actor.desk.environment["PATH"] = f"{self.home / 'bin'}:{PROGRAMS}"
        return actor


def do(actor: Actor, *lines: str) -> None:
    """Type commands that must not fail."""
    for line in lines:
        actor.types(line)


# --- one agent ------------------------------------------------------------------------------------


def tell_of_help(scene: Scene) -> None:
    """Look at what there is, and call it wrongly, before there is a project."""
    ann = scene.come()
    scene.take("help-none", ann, "passdown")
    scene.take("help", ann, "passdown --help")
    scene.take("help-of-a-command", ann, "passdown claim --help")
    scene.take("exit-2-usage", ann, "passdown clam", "passdown goal", "passdown log --since yesterday")
    (scene.home / "notes").mkdir()
    ann.desk.folder = scene.home / "notes"
    scene.take("start-outside-git", ann, "passdown start --host claude", "passdown status")


def tell_of_first_day(scene: Scene) -> None:
    """Set a project up; an agent works in it alone, and ends."""
    ann = scene.come(PERSON)
    scene.make_shop(ann)
    scene.take("empty-status", ann, "passdown status", "passdown doctor", "passdown metrics")
    scene.take("empty-brief", ann, "passdown brief")
    scene.take("empty-lists", ann, "passdown log", "passdown view", "passdown handoff", "passdown feedback")
    scene.take("init", ann, "passdown init --yes", "passdown init --yes")
    scene.commit(ann)
    agent = scene.come("", "shop")
    scene.take("start-first", agent, "passdown start --host claude")
    scene.take("start-again", agent, "passdown start --host claude")
    scene.take("brief-first", agent, "passdown brief")
    scene.take("goal-now-next-done", agent, *FACTS[:4], "passdown done", "passdown note 'Logout is slow'")
    scene.take("decide", agent, *FACTS[4:6], 'passdown decide store "Keep sessions in SQLite"')
    scene.take(
        "ask-answer",
        agent,
        FACTS[6],
        'passdown answer "Do old tokens" "No: they expire today"',
        'passdown answer "Do old" "Yes"',
        'passdown answer "Who" "Ann"',
    )
    scene.take("tell", ann, 'passdown tell "The release is on Friday"', "passdown feedback")
    do(agent, 'passdown now "End the session at logout"', 'passdown ask "Who rotates the keys?"')
    scene.take("retract", agent, 'passdown retract "Write the note"', 'passdown retract "Nobody said this"')
    scene.take("status-alone", agent, "passdown status")
    scene.take("brief-full", agent, "passdown brief")
    scene.take("certify", agent, "passdown certify")
    scene.take("ledger", agent, "cat conductor/sessions/active/LEDGER.md")
    scene.take("doctor-healthy", agent, "passdown doctor")
    scene.take("end", agent, "passdown end", "passdown status", "passdown end")


def tell_of_second_day(scene: Scene) -> None:
    """Come back to a project in which a session ended, and look at what is known."""
    agent = scene.set_up("passdown start --host claude --nickname amber", *FACTS, "passdown end")
    scene.take("start-second", agent, "passdown start --host claude --nickname amber")
    scene.take("brief-second", agent, "passdown brief")
    scene.take("log", agent, "passdown log")
    scene.take("search-hits", agent, "passdown search redis")
    scene.take("search-none", agent, "passdown search kafka")
    scene.take("view", agent, "passdown view", "passdown view list decisions")
    scene.take("archived-session", agent, "sh -c 'cat conductor/sessions/archive/*.md'")
    do(agent, 'passdown decide store "Keep sessions in SQLite"', "passdown publish")
    scene.take("view-not-committed", agent, "passdown synthesize --check", "passdown status")
    do(agent, "git add .", "git commit --quiet --message 'By hand'")
    scene.take("exit-4-outdated", agent, "passdown synthesize --check")
    scene.take("synthesize", agent, "passdown synthesize --commit", "passdown synthesize")
    scene.take(
        "pause",
        agent,
        *("passdown pause", "passdown pause", "passdown status", "passdown unpause", "passdown unpause"),
    )


def tell_of_damage(scene: Scene) -> None:
    """Find a damaged ledger, and a project with several things that are wrong."""
    agent = scene.set_up("passdown start --host claude --nickname amber", *FACTS)
    agent.edits("conductor/sessions/active/LEDGER.md", "-## Now\n+## Present\n")
    scene.take(
        "check-damaged",
        agent,
        *("passdown check", "passdown check --fix", "passdown check --fix --yes", "passdown check"),
    )
    agent.saves(".gitattributes", "")
    agent.saves(".passdown-4194305-0123456789abcdef.tmp", "")
    agent.saves("passdown.toml", '[events]\nlayout = "week"\n', "toml")
    scene.take("exit-2-bad-settings", agent, "passdown status")
    scene.take("doctor-unhealthy", agent, "passdown doctor")
    scene.take("doctor-fix", agent, "passdown doctor --fix --yes")
    agent.saves("passdown.toml", "", "toml")
    agent.saves("thoughts/shared/handoffs/current.md", STREAM)
    scene.take("migrate", agent, "passdown migrate", "passdown migrate --yes")


def tell_of_crash(scene: Scene) -> None:
    """Die in the middle of the work, and be recovered by the next session."""
    agent = scene.set_up("passdown task add 'End the session at logout' --id t-logout")
    do(agent, "passdown start --host claude --nickname amber", *FACTS, "passdown claim t-logout")
    do(agent, "passdown reserve src/")
    agent.desk.type("exit")  # its window dies, and it with it
    other = scene.come("", "shop")
    scene.take("crashed", other, "passdown status", "passdown doctor")
    scene.take("start-recovers", other, "passdown start --host claude --nickname birch")
    scene.take("brief-recovered", other, "passdown brief")
    scene.take("status-recovered", other, "passdown status")


def tell_of_questions(scene: Scene) -> None:
    """Be asked at a terminal: agree once, and break off once."""
    ann = scene.come(PERSON)
    scene.make_shop(ann)
    scene.answer("init-at-terminal", ann, "passdown init", "y", "y", "y")
    scene.commit(ann)
    do(ann, "passdown start --host claude --nickname amber", *FACTS, "passdown publish")
    scene.answer("exit-130-interrupted", ann, "passdown synthesize", "C-c")


# --- several agents -------------------------------------------------------------------------------


def tell_of_two(scene: Scene) -> None:
    """Share tasks and files between two agents."""
    amber = scene.set_up(name="amber")
    do(amber, "git worktree add --quiet -b two ../shop-two")
    birch = scene.come("birch", "shop-two")
    do(amber, "passdown start --host claude --nickname amber")
    scene.take("start-beside", birch, "passdown start --host codex --nickname birch")
    scene.take("claim-nothing", birch, "passdown claim")
    scene.take(
        "task-add",
        amber,
        'passdown task add "Set the cookie at login" --id t-login --priority 1',
        'passdown task add "End the session at logout" --id t-logout',
        'passdown task add "Write the note" --id t-note --after t-login --after t-logout',
        "passdown task ready",
        "passdown task blocked",
    )
    scene.take("claim", amber, "passdown claim", "passdown claim")
    scene.take("claim-refused", birch, "passdown claim t-login", "passdown claim t-none")
    do(birch, "passdown claim")
    scene.take("task-list", birch, "passdown task list", "passdown task show t-note")
    scene.take("reserve", amber, "passdown reserve src/login/ src/session.py passdown.toml")
    scene.take("reserve-refused", birch, "passdown reserve 'src/**/*.py'")
    scene.take("msg", birch, 'passdown msg "May I have src/session.py?" --to amber')
    scene.take("inbox", amber, "passdown inbox", "passdown inbox")
    scene.take("release", amber, "passdown release src/session.py", "passdown release src/none.py")
    scene.take("status-two", birch, "passdown status")
    scene.take("brief-two", birch, "passdown brief")
    scene.take("close", amber, 'passdown close --note "With a test"', "passdown close")
    scene.take(
        "task-give-back", birch, "passdown task note t-logout 'Half done'", "passdown task give-back t-logout"
    )
    do(birch, "passdown end")
    scene.take("msg-to-nobody", amber, 'passdown msg "Logout is done"', 'passdown msg "Hello" --to dora')


def tell_of_takeover(scene: Scene) -> None:
    """Want what a living session has: its task, and its track."""
    amber = scene.set_up("passdown task add 'End the session at logout' --id t-logout", name="amber")
    do(amber, "git worktree add --quiet -b two ../shop-two")
    do(amber, "passdown start --host claude --nickname amber --track auth", "passdown claim t-logout")
    do(amber, "passdown reserve src/")
    birch = scene.come("birch", "shop-two")
    do(birch, "passdown start --host codex --nickname birch --fresh")
    scene.take("takeover-refused", birch, "passdown takeover t-logout", "passdown takeover t-logout --force")
    scene.take("exit-3-held", birch, "passdown track bind auth")
    ann = scene.come(PERSON, "shop-two")
    scene.take_at_terminal("takeover", ann, "passdown takeover t-logout --force", "passdown status")
    scene.take("taken-over", amber, "passdown close t-logout")


def tell_of_five(scene: Scene) -> None:
    """Look at five agents in one checkout."""
    agent = scene.set_up()
    for number, name in enumerate(("amber", "birch", "cedar", "dune", "elm"), 1):
        do(
            agent,
            f"passdown start --new --session {name} --nickname {name} --fresh",
            f'passdown goal "Part {number} of the shop" --session {name}',
            f'passdown task add "Build part {number}" --id t-{number}',
            f"passdown claim t-{number} --session {name}",
        )
    do(agent, 'passdown now "Paint the door" --session birch', "passdown reserve src/door/ --session birch")
    scene.take("status-five", agent, "passdown status")
    scene.take("exit-2-several-sessions", agent, 'passdown now "Write the note"')


def tell_of_guard(scene: Scene) -> None:
    """Commit a file that another session holds."""
    amber = scene.set_up("passdown start --host claude --session amber --nickname amber")
    do(amber, "passdown reserve src/session.py --session amber")
    scene.take("guard-install", amber, "passdown guard install --yes", "passdown guard uninstall")
    do(amber, "passdown guard install --yes")
    birch = scene.come_in_claude("birch, an agent", session="birch-1")
    do(birch, "passdown start --new --host claude --nickname birch --fresh")
    birch.saves("src/session.py", "TIMEOUT = 30\n", "python")
    do(birch, "git add src/session.py")
    scene.take("guard-refuses", birch, "git commit --quiet --message Timeout")
    ann = scene.come(PERSON, "shop")
    scene.take_at_terminal("guard-person", ann, "git commit --quiet --message Timeout")


def tell_of_server(scene: Scene) -> None:
    """Become a team, and find that its server does not answer."""
    agent = scene.set_up()
    scene.take("team-init", agent, "passdown team init --yes")
    do(agent, "passdown start --host claude --nickname amber")
    scene.take("team-without-server", agent, "passdown claim", "passdown status", "passdown doctor")
    agent.desk.environment["PASSDOWN_COORDINATION_URL"] = "postgresql://passdown_app@127.0.0.1:1/passdown"
    agent.desk.environment["PASSDOWN_COORDINATION_WAIT_SECONDS"] = "1"
    scene.take("server-away-status", agent, "passdown status", "passdown doctor", "passdown team migrate")
    scene.take("exit-5-server-away", agent, "passdown claim", "passdown reserve src/", 'passdown msg "Hello"')
    scene.take("server-away-start", agent, "passdown end", "passdown start --host claude --nickname birch")


def tell_of_beads(scene: Scene) -> None:
    """Keep the tasks in Beads, which is missing, answers, and is away for a while."""
    agent = scene.set_up()
    agent.saves("passdown.toml", '[tracker]\nkind = "beads"\n', "toml")
    do(agent, "passdown start --host claude --nickname amber")
    scene.take("bd-missing", agent, "passdown claim", "passdown status", "passdown preflight")
    bd = make_small(scene.home / "beads", "1.3.0")
    for number, title in enumerate(("Sign in form", "Docs"), 1):
        bd.add(f"tp-{number}", title=title)
    agent.desk.environment.update(bd.environment())
    agent.desk.environment["PATH"] = f"{bd.bin}:{PROGRAMS}"
    scene.take("bd-claim", agent, "passdown ready", "passdown claim", "passdown preflight")
    bd.plan("before", "before", "before")
    scene.take("bd-down", agent, 'passdown task note tp-1 "Half done"', "passdown status")
    scene.take("bd-back", agent, 'passdown close --note "JWT with RS256"', "passdown sync", "passdown status")


# --- more than facts ------------------------------------------------------------------------------


def tell_of_loops(scene: Scene) -> None:
    """Work in turns with a person's feedback."""
    agent = scene.set_up("passdown start --host claude --nickname amber")
    ann = scene.come(PERSON, "shop")
    scene.take(
        "loop-new",
        agent,
        "passdown loop open 'Habit Tracker' ideation",
        "passdown loop open habits ideation",
        "passdown loop open habits proposal",
        'passdown loop append habits proposal "A tracker with streaks. Is a penalty fine?"',
        "passdown loop continue habits",
    )
    told = 'passdown loop feedback habits proposal "Nobody should feel guilty."'
    scene.take("loop-feedback", ann, told, "passdown feedback")
    turn = "passdown loop append habits proposal 'No penalty.'"
    scene.take("loop-answer", agent, "passdown loop continue habits", turn)
    scene.take(
        "loop-approve-refused", agent, "passdown loop approve habits", "passdown loop open habits specs"
    )
    agent.saves("changes/habits/proposal.md", "# Proposal\n\nStreaks, without penalties.\n")
    scene.take_at_terminal("loop-approve", ann, "passdown loop approve habits", "passdown loop")


def tell_of_tracks(scene: Scene) -> None:
    """Work on a track, through its gates, to its end."""
    agent = scene.set_up("passdown start --host claude --nickname amber")
    scene.take("track-bind", agent, "passdown track bind auth", "passdown track")
    agent.saves("conductor/tracks/auth/plan.md", PLAN)
    run = "passdown gate run"
    scene.take("gate", agent, "passdown gate", f"{run} plan-structure", f"{run} plan-execution --yes")
    scene.take("gate-fails", agent, f"{run} spec", f"{run} completion", "passdown gate show spec")
    scene.take("gate-pass", agent, "passdown gate pass design --note 'Read it with Ben'")
    do(agent, *FACTS)
    agent.saves("tests/test_note.py", "def test_note(): pass\n", "python")
    do(agent, "passdown task add 'Write the note' --id t-note", "passdown claim t-note")
    scene.take("tdd", agent, "passdown tdd red", "passdown tdd refactor", "passdown tdd")
    scene.take("preflight", agent, "passdown preflight")
    test = "passdown checkpoint validate 1 --test 'git diff --check'"
    scene.take(
        "checkpoint-save",
        agent,
        "passdown checkpoint start 1 --name Grammar",
        test,
        f"{test} --yes",
        "passdown checkpoint fail 2 'The design is wrong'",
        "passdown checkpoint show",
    )
    scene.take("checkpoint-resume", agent, "passdown checkpoint resume auth --yes")
    scene.take("track-finish", agent, "passdown track finish", "passdown track finish")


def tell_of_handoffs(scene: Scene) -> None:
    """Save the context, hand work over, and resume it."""
    agent = scene.set_up("passdown start --host claude --nickname amber")
    scene.take("exit-1-refused", agent, "passdown context save")
    do(agent, *FACTS)
    saved = ("passdown context save", "passdown context check", "passdown context recall")
    scene.take("context", agent, *saved)
    scene.take("handoff-create", agent, "passdown handoff create --stream sign-in")
    scene.take("handoff-document", agent, "cat thoughts/shared/handoffs/sign-in/current.md")
    scene.take("handoff-list", agent, "passdown handoff list")
    given = 'passdown handoff create "Review the login" --to birch --pattern review'
    scene.take(
        "handoff-to",
        agent,
        *(given, "passdown end", "passdown start --host claude --nickname birch --fresh"),
    )
    scene.take("handoff-resume", agent, "passdown handoff resume sign-in")


def tell_of_hosts(scene: Scene) -> None:
    """Install the plugin into Claude Code, and take it out again."""
    ann = scene.set_up(name=PERSON)
    programs = scene.home / "bin"
    programs.mkdir()
    (programs / "passdown").symlink_to(Path(sys.executable).parent / "passdown")
    scene.take("install-refused", ann, "passdown install claude", "passdown uninstall claude")
    write_program(programs / "claude")
    install = "passdown install claude --yes"
    scene.take_at_terminal("install", ann, install, install)
    scene.take_at_terminal("uninstall", ann, "passdown uninstall claude --yes")


def tell_of_hooks(scene: Scene) -> None:
    """See what the hooks of Claude Code show to a person and tell an agent."""
    ann = scene.set_up(name=PERSON)
    agent = scene.come_in_claude()
    with scene.named("hook-first-start"):
        agent.calls("SessionStart", source="startup")
    do(agent, *FACTS[:5])
    agent.calls("SessionEnd", reason="other")
    agent.begin("session-2")
    with scene.named("hook-second-start"):
        agent.calls("SessionStart", source="startup")
    do(ann, 'passdown tell "The release is on Friday"')
    do(ann, "passdown start --new --fresh --session birch --nickname birch")
    do(ann, "passdown msg 'May I have src/session.py?' --session birch")
    with scene.named("hook-prompt"):
        agent.calls("UserPromptSubmit", prompt="Go on with the logout")
    agent.calls("PreCompact", trigger="auto")
    with scene.named("hook-compacted"):
        agent.calls("SessionStart", source="compact")
    with scene.named("hook-subagent"):
        agent.calls("SubagentStart", agent_type="writer")


SCENES: Final[tuple[Callable[[Scene], None], ...]] = (
    tell_of_tracks,
    tell_of_first_day,
    tell_of_two,
    tell_of_five,
    tell_of_second_day,
    tell_of_server,
    tell_of_beads,
    tell_of_loops,
    tell_of_handoffs,
    tell_of_hosts,
    tell_of_crash,
    tell_of_damage,
    tell_of_guard,
    tell_of_help,
    tell_of_questions,
    tell_of_hooks,
    tell_of_takeover,
)
"""The longest first, so that they are over together."""
