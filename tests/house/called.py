"""A program that runs a call of Passdown, and then writes in which modules a function was called.

    python -I -S called.py SOURCE LIBRARIES ARGUMENTS…

The last line of standard error is the exit code and the files, as JSON. Code that runs while a module is
imported does not count, and neither do bodies of classes.
"""

import json
import os
import sys
import threading
from inspect import CO_OPTIMIZED
from types import FrameType

source, libraries = sys.argv.pop(1), sys.argv.pop(1)
sys.path = [source, *sys.path[1:], libraries]
found: set[str] = set()
package = os.path.join(source, "passdown") + os.sep


def note_call(frame: FrameType, event: str, _: object) -> None:
    """Note the file of a function of the package that is called."""
    code = frame.f_code
    if event != "call" or code.co_filename in found or not code.co_flags & CO_OPTIMIZED:
        return
    if code.co_filename.startswith(package) and not is_importing(frame):
        found.add(code.co_filename)


def is_importing(frame: FrameType | None) -> bool:
    """Return whether a module other than this program is being run."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename != __file__:
            return True
        frame = frame.f_back
    return False


from passdown.faces.cli.main import main  # noqa: E402 - its place is known only now

threading.setprofile(note_call)
sys.setprofile(note_call)
code = main()
sys.setprofile(None)
files = sorted(path.removeprefix(package).replace(os.sep, "/") for path in found)
sys.stderr.write(f"\n{json.dumps([code, files])}")
