"""Compiles our modules where the installer did not, so that no hook has to."""

import os
import sys

import passdown


def compile_modules() -> None:
    """Compile the modules of the package that are not compiled yet, where that may be written.

    Nothing happens where the user keeps Python from writing bytecode, or where the package is in an archive.
    A folder that may not be written is left as it is: Python then compiles what it loads, as before.
    """
    folder = os.path.dirname(os.path.abspath(passdown.__file__))
    if sys.dont_write_bytecode or not os.path.isdir(folder):
        return
    from compileall import compile_dir  # once for each install

    compile_dir(folder, quiet=2)
