"""A face that nobody ships: each line of its input asks for one action, each line of its output answers.

It knows the table of actions and nothing below it, as a face for tools would.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

from passdown.actions.answers import encode
from passdown.actions.callers import CallEnvironment, ask, open_caller
from passdown.actions.table import find_action
from passdown.errors import PassdownError
from passdown.records import is_record


def answer_lines(lines: Iterable[str], folder: Path) -> Iterator[str]:
    """Answer each line; what an answer settles is done once the next one is asked for."""
    for line in lines:
        asked = json.loads(line)
        action = find_action(asked["action"])
        around = CallEnvironment(folder=folder, variables=asked.get("variables", {}))
        with closing(open_caller(around, asked.get("session", ""))) as caller:
            try:
                answer = ask(action, caller, _read_request(action, asked.get("request")))
            except PassdownError as found:
                error = {"code": found.code, "message": found.message, "hint": found.hint}
                yield json.dumps({"error": error})
                continue
            yield json.dumps(encode(answer.result))
            for act in answer.after:
                act()


def _read_request(action: Callable[..., object], given: object) -> object:
    """Make the request of an action from what was given."""
    (_, request) = inspect.signature(action).parameters.values()
    return _read(request.annotation, given)


def _read(kind: Any, given: object) -> Any:
    if is_record(kind) and isinstance(given, Mapping):
        hints = kind.__annotations__
        return kind(**{name: _read(get_args(hints[name])[0], value) for name, value in given.items()})
    return tuple(given) if isinstance(given, list) else given
