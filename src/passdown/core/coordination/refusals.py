"""Texts for an agent that wants what another session holds: who has it, how long, what to do (R214)."""

from passdown.core.coordination.leases import HELD, PathVerdict
from passdown.core.times import seconds_words


def tell_holder(name: str, held: str, agent: str, left: float) -> str:
    """Describe who holds something, under which pattern, and when that expires if the holder stays silent."""
    notes = [] if held in {"", name} else [f"reserved as {held}"]
    notes += [f"expires in {seconds_words(left)} if it stays silent"] if left > 0 else []
    return f"{name} is held by {agent}" + (f" ({', '.join(notes)})" if notes else "")


def list_choices(name: str, agent: str) -> tuple[str, str, str]:
    """Return the three choices: ask the holder, wait for it, or do something else."""
    return (
        f'ask for it: `passdown msg "May I have {name}?" --to {agent}`',
        "or wait: `passdown inbox` shows the answer",
        "or take another task: `passdown task ready`",
    )


def tell_verdict(verdict: PathVerdict) -> str:
    """Describe why a session may not change a path."""
    if verdict.verdict == HELD:
        return tell_holder(verdict.path, verdict.held, verdict.agent, verdict.left)
    return f"{verdict.path} is no longer yours: your reservation expired and {verdict.agent} reserved it"


def list_verdict_choices(verdicts: tuple[PathVerdict, ...]) -> tuple[str, ...]:
    """Return what to do about paths that may not be changed: per holder, and for those that were lost."""
    found: list[str] = []
    held = {one.agent: one.path for one in reversed(verdicts) if one.verdict == HELD}
    asked = [list_choices(path, agent) for agent, path in reversed(held.items())]
    found += [first for first, *_ in asked]
    found += asked[0][1:] if asked else ()
    lost = [one.path for one in verdicts if one.verdict != HELD]
    if lost:
        found.append(
            f"compare your version with the last commit, then run `passdown reserve {lost[0]}` and try again"
        )
    return tuple(found)


def refuse_edit(verdicts: tuple[PathVerdict, ...], age: float | None = None) -> str:
    """Return the text that tells a model why its edit was blocked and what it can do instead.

    `age` is the age of the copy that was used, if the server could not be asked.
    """
    reasons = "; ".join(tell_verdict(one) for one in verdicts)
    found = list_verdict_choices(verdicts)
    if age is not None:
        asked = f"last known {seconds_words(age)} ago"
        found = (f"check whether it is still held ({asked}): `passdown status`", *found)
    choices = "\n".join(f"- {choice}" for choice in found)
    return f"Passdown blocked this edit: {reasons}. Do not change the file in another way.\n{choices}"
