"""Moments at which somebody begins to read: a session, a subagent, the model after a brief that was cut."""

import os
from contextlib import suppress
from typing import Final

from passdown import wiring
from passdown.core.accounts import Account
from passdown.core.budgets import TOKENS, Budget
from passdown.core.moments import FORK, Reply
from passdown.core.times import age_words
from passdown.errors import StorageError
from passdown.faces.hooks.scenes import Scene
from passdown.records import replace
from passdown.services.deliveries import send_brief, take_word
from passdown.services.sessions import Wish, start_session

CUT: Final = "Passdown: the brief was cut on its way; a shorter one is sent"

_RESUME: Final = "resume"
_ENVIRONMENT: Final = "CLAUDE_ENV_FILE"


def start(scene: Scene) -> Reply:
    """Start or go on with the session, and brief it."""
    call = scene.call
    wish = Wish(host=scene.platform, host_session=call.session, is_fork=call.cause == FORK)
    started = start_session(scene.project, wish)
    _export(started.account)
    sent = send_brief(
        scene.project,
        started.account,
        _usual(scene.budget),
        wiring.open_elsewhere(scene.root, scene.project.checkout, scene.haste),
        is_known=call.cause == _RESUME,
    )
    return Reply(context=sent.text, notice=_greet(scene, started.account))


def _usual(budget: Budget) -> Budget:
    return replace(budget, tokens=min(budget.tokens, TOKENS))


def _greet(scene: Scene, account: Account) -> str:
    """Say in one line that somebody is there: events, goal, age."""
    digest = scene.project.checkout.index.digest(1)
    events = "1 event" if digest.event_count == 1 else f"{digest.event_count} events"
    latest = digest.latest
    age = f", the newest {age_words(scene.project.now() - latest)} old" if latest else ""
    goal = f"; goal: {account.goal.text}" if account.goal else ""
    return f"Passdown: {events}{age}{goal}"


def _export(account: Account) -> None:
    """Tell the host's shell which session it is, where the host lets us (C51)."""
    path = os.environ.get(_ENVIRONMENT, "")
    if path:
        # The host's own variable names the session as well.
        with suppress(StorageError):
            wiring.append_line(path, f"export PASSDOWN_SESSION={account.session}")


def prompt(scene: Scene) -> Reply:
    """Brief the session again; the last brief was cut on its way, of which the person is told.

    Or it was forgotten, in a host that shows the person nothing of ours.
    """
    account = scene.find()
    take_word(scene.open_site(), scene.name)
    if account is None:  # its end was told, and yet it goes on
        return start(scene)
    sent = send_brief(scene.project, account, _usual(scene.budget))
    return Reply(context=sent.text, notice=CUT)


def start_subagent(scene: Scene) -> Reply:
    """Brief a subagent in short; what it does belongs to its session."""
    account = scene.find()
    if account is None:
        return Reply()
    return Reply(context=send_brief(scene.project, account, scene.budget.smaller()).text)
