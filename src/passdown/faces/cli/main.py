"""The entry points: `passdown`, and `cc-synthesize`."""

import gc
import os
import sys

from passdown import __version__

TYPE_CHECKING = False  # `typing` would be loaded by every hook
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_MOST_SHOWN = 60


def run() -> "NoReturn":
    """Run the command line and end the process."""
    _leave(main())


def run_synthesis() -> "NoReturn":
    """Run `passdown synthesize`, under the name `cc-synthesize`, and end the process."""
    _leave(synthesize())


def _leave(code: int) -> "NoReturn":
    """End the process without taking the interpreter apart, which takes a tenth of a verb's time.

    What we opened is closed by now. Threads, and libraries that clean up at the exit, end the usual way.
    """
    threads = sys.modules.get("threading")
    if "atexit" in sys.modules or (threads is not None and threads.active_count() > 1):
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            sys.exit(code)  # the interpreter reports it
    os._exit(code)


def main() -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:]
    return _answer_hook(arguments[1:]) if arguments[:1] == ["hook"] else _run(arguments)


def synthesize() -> int:
    """Run `passdown synthesize`, under the name `cc-synthesize`."""
    arguments = sys.argv[1:]
    return _run(arguments if arguments == ["--version"] else ["synthesize", *arguments])


def _run(arguments: list[str]) -> int:
    gc.disable()  # a command ends before garbage matters; collecting it takes a tenth of a verb's time
    if arguments == ["--version"]:
        return _say_version()
    if arguments == ["synthesize", "--check"] and _is_current():
        return 0
    from passdown.errors import PassdownError  # nothing is loaded for the version
    from passdown.faces.cli import output

    as_json = output.wants_json(arguments)
    try:
        _require_text(arguments)
        return _call(arguments)
    except PassdownError as found:
        return output.report(found, as_json=as_json)
    except KeyboardInterrupt:
        return output.report_interrupt(as_json=as_json)
    except Exception as found:  # noqa: BLE001 - the entry point reports every unexpected error
        return output.report_bug(found, __version__, as_json=as_json)


def _require_text(arguments: list[str]) -> None:
    """Raise a UsageError if an argument is not valid UTF-8: neither a file nor an engine could store it."""
    for number, argument in enumerate(arguments, 1):
        if not argument.isascii() and any("\ud800" <= one <= "\udfff" for one in argument):
            from passdown.errors import UsageError  # nearly every call is text

            raise UsageError(f"argument {number} is not valid UTF-8: {argument[:_MOST_SHOWN]}")


def _call(arguments: list[str]) -> int:
    """Run a plain verb directly, and everything else through the parser; imports may be interrupted."""
    if arguments == ["status-line"]:
        from passdown.faces.cli.status_line import show_status

        return show_status()
    from passdown.faces.cli.verbs import run_plainly

    code = run_plainly(arguments)
    if code is not None:
        return code
    from passdown.faces.cli import tree

    return tree.run(arguments)


class HookWork:
    """The work of hooks. Most hooks have nothing to do, so each part is imported when called."""

    def answer(
        self, arguments: list[str], payload: dict[str, object], root: str, elapsed: "Callable[[], float]"
    ) -> int:
        """Handle the hook call, and answer the host."""
        from passdown.faces.hooks.main import answer

        return answer(arguments, payload, root, elapsed)

    def say_rest(self, arguments: list[str], payload: dict[str, object]) -> None:
        """Tell the user that Passdown is not set up in this repository."""
        from passdown.faces.hooks.main import say_not_set_up

        say_not_set_up(arguments, payload)

    def note(self, root: str, text: str) -> None:
        """Write a line to the hook log."""
        from passdown.faces.hooks.hook_log import log_trouble

        log_trouble(root, text)


def _answer_hook(arguments: list[str]) -> int:
    from passdown.faces.hooks.quick import main as answer  # nothing else is loaded for a hook

    gc.disable()  # as in `_run`
    return answer(arguments, HookWork())


def _is_current() -> bool:
    from passdown.faces.cli.quick import check_quickly  # only `synthesize --check` needs it

    return check_quickly()


def _say_version() -> int:
    if sys.stdout is None:  # closed by the caller
        return 0
    try:
        sys.stdout.write(f"passdown {__version__}\n")
        sys.stdout.flush()
    except OSError:
        # The reader is gone; the interpreter must not try to flush the rest at exit.
        sys.stdout = None
    return 0
