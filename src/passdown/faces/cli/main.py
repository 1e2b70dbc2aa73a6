"""The command `passdown`: the version at once, then the command tree."""

import sys

from passdown import __version__


def main() -> int:
    """Run the command line and return its exit code."""
    return _run(sys.argv[1:])


def synthesize() -> int:
    """Run `passdown synthesize`, under the name `cc-synthesize`."""
    arguments = sys.argv[1:]
    return _run(arguments if arguments == ["--version"] else ["synthesize", *arguments])


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        return _say_version()
    if arguments == ["synthesize", "--check"] and _is_current():
        return 0
    from passdown.errors import PassdownError  # noqa: PLC0415 - nothing is loaded for the version
    from passdown.faces.cli import output  # noqa: PLC0415

    as_json = output.wants_json(arguments)
    try:
        from passdown.faces.cli import tree  # noqa: PLC0415 - an interrupt may come while it loads

        return tree.run(arguments)
    except PassdownError as found:
        return output.report(found, as_json=as_json)
    except KeyboardInterrupt:
        return output.report_interrupt(as_json=as_json)
    except Exception as found:  # noqa: BLE001 - the entry point reports what nobody foresaw
        return output.report_bug(found, __version__, as_json=as_json)


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
