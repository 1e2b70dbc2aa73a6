"""The command `passdown`: the version at once, then the command tree."""

import gc
import sys

from passdown import __version__

_VERBS = ("goal", "now", "done", "next", "decide", "rule-out", "ask", "answer", "note", "retract")
_OF_LIFE = ("start", "heartbeat", "end", "publish", "status")


def main() -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:]
    return _answer_hook(arguments[1:]) if arguments[:1] == ["hook"] else _run(arguments)


def synthesize() -> int:
    """Run `passdown synthesize`, under the name `cc-synthesize`."""
    arguments = sys.argv[1:]
    return _run(arguments if arguments == ["--version"] else ["synthesize", *arguments])


def _run(arguments: list[str]) -> int:
    gc.disable()  # a command is over before garbage matters; looking for it takes a tenth of a verb
    if arguments == ["--version"]:
        return _say_version()
    if arguments == ["synthesize", "--check"] and _is_current():
        return 0
    from passdown.errors import PassdownError  # noqa: PLC0415 - nothing is loaded for the version
    from passdown.faces.cli import output  # noqa: PLC0415

    as_json = output.wants_json(arguments)
    try:
        return _call(arguments)
    except PassdownError as found:
        return output.report(found, as_json=as_json)
    except KeyboardInterrupt:
        return output.report_interrupt(as_json=as_json)
    except Exception as found:  # noqa: BLE001 - the entry point reports what nobody foresaw
        return output.report_bug(found, __version__, as_json=as_json)


def _call(arguments: list[str]) -> int:
    """Call a verb at once, and what else there is through the tree; an interrupt may come while they load."""
    if arguments and arguments[0] in _VERBS:
        from passdown.faces.cli.saying import say_plainly  # noqa: PLC0415

        code = say_plainly(arguments)
        if code is not None:
            return code
    if len(arguments) == 1 and arguments[0] in _OF_LIFE:
        from passdown.faces.cli.living import PLAIN  # noqa: PLC0415

        return PLAIN[arguments[0]]()
    if arguments == ["status-line"]:
        from passdown.faces.cli.status_line import show_status  # noqa: PLC0415

        return show_status()
    from passdown.faces.cli import tree  # noqa: PLC0415

    return tree.run(arguments)


def _answer_hook(arguments: list[str]) -> int:
    from passdown.faces.hooks.quick import main as answer  # noqa: PLC0415 - nothing else is loaded for it

    gc.disable()  # as below
    return answer(arguments)


def _is_current() -> bool:
    from passdown.faces.cli.quick import check_quickly  # noqa: PLC0415 - most commands are others

    return check_quickly()


def _say_version() -> int:
    if sys.stdout is None:  # closed by whoever started us
        return 0
    try:
        sys.stdout.write(f"passdown {__version__}\n")
        sys.stdout.flush()
    except OSError:
        # Nobody reads any more; the interpreter must not try to flush the rest at its end.
        sys.stdout = None
    return 0
