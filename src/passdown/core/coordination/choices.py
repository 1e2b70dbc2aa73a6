"""What to say to whoever wants what another session holds: who, for how long, and the choices (R214)."""

from passdown.core.coordination.leases import HELD, PathVerdict
from passdown.core.times import seconds_words


def tell_holder(name: str, held: str, agent: str, left: float) -> str:
    """Say who holds something, as part of what, and for how long without a further sign of life."""
    what = name if held in {"", name} else f"{name} (as {held})"
    more = f", for {seconds_words(left)} more" if left > 0 else ""
    return f"{what} is held by {agent}{more}"


def list_choices(name: str, agent: str) -> tuple[str, str, str]:
    """Return the three choices: ask the holder, wait for it, or do something else."""
    return (
        f'ask for it: `passdown msg "May I have {name}?" --to {agent}`',
        "or wait: `passdown inbox` shows the answer",
        "or take another task: `passdown task ready`",
    )


def tell_verdict(verdict: PathVerdict) -> str:
    """Say why a session may not change a path."""
    if verdict.verdict == HELD:
        return tell_holder(verdict.path, verdict.held, verdict.agent, verdict.left)
    return (
        f"{verdict.path} is no longer yours: your reservation expired, and {verdict.agent} has had it since"
    )


def list_verdict_choices(verdicts: tuple[PathVerdict, ...]) -> tuple[str, ...]:
    """Return what to do about paths that may not be changed: for each holder, and for what was lost."""
    found: list[str] = []
    held = {one.agent: one.path for one in reversed(verdicts) if one.verdict == HELD}
    asked = [list_choices(path, agent) for agent, path in reversed(held.items())]
    found += [first for first, *_ in asked]
    found += asked[0][1:] if asked else ()
    lost = [one.path for one in verdicts if one.verdict != HELD]
    if lost:
        found.append(
            f"compare it with what is committed now, then `passdown reserve {lost[0]}` and try again"
        )
    return tuple(found)


def refuse_edit(verdicts: tuple[PathVerdict, ...], age: float | None = None) -> str:
    """Tell a model why its edit was not made, and what it can do.

    `age` is that of the copy by which it was judged.
    """
    reasons = "; ".join(tell_verdict(one) for one in verdicts)
    found = list_verdict_choices(verdicts)
    if age is not None:
        asked = f"the server said so {seconds_words(age)} ago"
        found = (f"or check whether it is still held ({asked}): `passdown status`", *found)
    choices = "\n".join(f"- {choice}" for choice in found)
    return f"Passdown: the edit was not made: {reasons}. Do not change it by other means either.\n{choices}"
