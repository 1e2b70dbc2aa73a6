"""Each rule of the house reports what breaks it, and leaves its near misses alone."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from tests.house import (
    RULES,
    WHOLE_RULES,
    callers,
    effects,
    imports,
    knowledge,
    promises,
    rule_name,
    shape,
    values,
    violations,
    whole,
)
from tests.house.tree import words


def _lines(count: int, line: str = "x = 1") -> str:
    return "\n".join([line] * count)


def _function(lines: int) -> str:
    return "def long():\n" + _lines(lines - 1, "    x = 1")


def _methods(count: int) -> str:
    return "".join(f'    def m{number}(self) -> None:\n        """Promise."""\n' for number in range(count))


_IFS = "def f(x):\n" + "".join(f"    if x == {number}:\n        x = 0\n" for number in range(12))
_FOUR_LEVELS = """
def f(x):
    for a in x:
        while a:
            with a:
                if a:
                    x = 1
                elif x:
                    x = 2
                else:
                    x = 3
"""
_FIVE_LEVELS = """
def f(x):
    for a in x:
        try:
            with a:
                if a:
                    pass
        except KeyError:
            match x:
                case 1:
                    if x:
                        while x:
                            x = 1
"""
_TEN_BRANCHES = """
def f(x):
    y = [a for a in x if a if not a]
    z = x and y and x or y
    for a in x:
        while a:
            z = 1 if a else 2
    try:
        z = 1
    except KeyError:
        z = 2
    match x:
        case 1 | 2:
            z = 1
        case _:
            z = 2
"""

# (rule, path, source): must be reported.
PLANTED = (
    ("import-direction", "core/a.py", "from passdown.services.workspace import documents"),
    ("import-direction", "core/a.py", "import passdown.ports.clock"),
    ("import-direction", "core/a.py", "from passdown import settings"),
    ("import-direction", "core/a.py", "from .. import wiring"),
    ("import-direction", "core/a.py", "from ..ports.clock import Clock"),
    ("import-direction", "core/__init__.py", "from ..ports import clock"),
    ("import-direction", "errors.py", "from passdown.core import ids"),
    ("import-direction", "settings.py", "from passdown.ports import clock"),
    ("import-direction", "ports/a.py", "from passdown.settings import Settings"),
    ("import-direction", "services/a.py", "from passdown.engines.files import write"),
    ("import-direction", "services/a.py", "from passdown.trackers import none"),
    ("import-direction", "services/a.py", "from passdown.hosts import generic"),
    ("import-direction", "services/a.py", "def f():\n    from passdown.engines import system"),
    ("import-direction", "services/a.py", "if TYPE_CHECKING:\n    from passdown.wiring import W"),
    ("import-direction", "engines/a.py", "import passdown.services.workspace.documents as d"),
    ("import-direction", "engines/a.py", "from passdown.settings import Settings"),
    ("import-direction", "trackers/a.py", "from passdown.services.workspace import documents"),
    ("import-direction", "hosts/a.py", "from passdown.engines import system"),
    ("import-direction", "wiring/a.py", "from passdown.faces.cli import main"),
    ("import-direction", "wiring/a.py", "import passdown.testing"),
    ("import-direction", "faces/cli/a.py", "from passdown.engines.files import write"),
    ("import-direction", "faces/cli/a.py", "from passdown.testing import builders"),
    ("import-direction", "faces/cli/a.py", 'importlib.import_module("passdown.testing.builders")'),
    ("import-direction", "faces/cli/a.py", "from passdown.plugin import skills"),
    ("import-direction", "plugin/a.py", '"""Text."""'),
    ("import-direction", "stray.py", '"""A module of no part."""'),
    ("import-direction", "extra/a.py", '"""A folder of no part."""'),
    ("room-order", "core/documents/a.py", "from passdown.core.formats import events"),
    ("room-order", "core/documents/a.py", "from passdown.core import facts"),
    ("room-order", "core/ids.py", "from passdown.core.documents.keys import Key"),
    ("room-order", "services/log/a.py", "from passdown.services.sessions.journals import read"),
    ("room-order", "services/log/a.py", "from ..sessions import start"),
    ("room-order", "services/unlisted/a.py", "from passdown.services.log import events"),
    ("room-order", "core/unlisted.py", "from passdown.core import ids"),
    ("engine-folders", "engines/git/a.py", "from passdown.engines.sqlite import store"),
    ("engine-folders", "engines/files/a.py", "from passdown.engines import git"),
    ("engine-folders", "engines/system.py", "import passdown.engines.postgres.store"),
    ("core-purity", "core/a.py", "import os"),
    ("core-purity", "core/a.py", "from pathlib import Path"),
    ("core-purity", "core/a.py", "import logging"),
    ("core-purity", "core/a.py", "import json.tool"),
    ("core-purity", "core/a.py", "def f():\n    import socket"),
    ("core-purity", "core/a.py", "import yaml"),
    ("core-purity", "core/a.py", "from yaml.nodes import Node"),
    ("core-purity", "core/a.py", "if TYPE_CHECKING:\n    import click"),
    ("core-purity", "core/a.py", "def f(): open('x')"),
    ("core-purity", "core/a.py", "def f(): print(1)"),
    ("core-purity", "core/a.py", "def f(): input()"),
    ("core-purity", "core/a.py", "def f(): exec('x')"),
    ("core-purity", "core/a.py", "def f(): eval('x')"),
    ("core-purity", "core/a.py", "def f(): compile('x', 'y', 'exec')"),
    ("core-purity", "core/a.py", "def f(): __import__('os')"),
    ("core-purity", "core/a.py", "def f(clock): return clock.now()"),
    ("core-purity", "core/a.py", "def f(d): return d.utcnow()"),
    ("core-purity", "core/a.py", "def f(d): return d.today()"),
    ("core-purity", "core/a.py", "def f(system): return system.environ['HOME']"),
    ("core-purity", "core/a.py", "def f(at): return at.astimezone()"),
    ("ports", "ports/a.py", "class P(Protocol):\n" + _methods(11)),
    ("ports", "ports/a.py", "class P(typing.Protocol[T]):\n    def m(self) -> None: ..."),
    ("ports", "ports/a.py", "class P(Protocol):\n    async def m(self) -> None: ..."),
    ("ports", "ports/a.py", "class P(Protocol):\n    @property\n    def m(self) -> int: ..."),
    (
        "no-second-port",
        "services/a.py",
        "from passdown.ports.git_history import GitHistory\ndef f(x): return isinstance(x, GitHistory)",
    ),
    (
        "no-second-port",
        "services/a.py",
        "from passdown.ports import index\ndef f(x): return isinstance(x, str | index.Index)",
    ),
    (
        "no-second-port",
        "ports/a.py",
        "from typing import runtime_checkable\n@runtime_checkable\nclass P: 1",
    ),
    ("no-any", "core/a.py", "from typing import Any"),
    ("no-any", "ports/a.py", "import typing as t\ndef f(x: t.Any): ..."),
    ("no-any", "services/a.py", "if TYPE_CHECKING:\n    from typing import Any as Whatever"),
    ("no-any", "services/a.py", "import typing\nx: dict[str, typing.Any]"),
    (
        "no-second-port",
        "ports/a.py",
        "from typing import runtime_checkable\n@runtime_checkable\nclass P(Protocol): ...",
    ),
    ("no-second-port", "services/a.py", "import typing as t\n@t.runtime_checkable\nclass P(t.Protocol): ..."),
    ("module-size", "core/a.py", _lines(601)),
    ("module-size", "testing/a.py", _lines(700, "")),
    ("function-size", "core/a.py", _function(61)),
    ("function-size", "core/a.py", "class A:\n    async def f(self):\n" + _lines(60, "        x = 1")),
    ("function-size", "core/a.py", _FIVE_LEVELS),
    (
        "function-size",
        "core/a.py",
        _FOUR_LEVELS.replace("x = 3", "match x:\n                        case 1: x = 3"),
    ),
    ("function-size", "core/a.py", _IFS + "    return [a for a in x if a]"),
    ("function-size", "core/a.py", _IFS + "    return x and x"),
    ("function-size", "core/a.py", _IFS + "    return 1 if x else 2"),
    ("function-size", "core/a.py", _IFS + "    for a in x: x = a"),
    ("function-size", "core/a.py", _TEN_BRANCHES + "    return x or y or z or a"),
    ("function-size", "core/a.py", "def f(a, b, c, /, d, *e, f, **g): ..."),
    ("function-size", "core/a.py", "class A:\n    def f(self, a, b, c, d, e, f, g): ..."),
    ("names", "core/utils.py", ""),
    ("names", "engines/helpers.py", ""),
    ("names", "services/common/a.py", ""),
    ("names", "manager.py", ""),
    ("names", "ports/base.py", ""),
    ("names", "faces/app/__init__.py", ""),
    ("docstrings", "core/a.py", ""),
    ("docstrings", "core/a.py", 'import re\n"""Not first."""'),
    ("docstrings", "core/a.py", '"""Module."""\ndef f(): ...'),
    ("docstrings", "core/a.py", '"""Module."""\nasync def f(): ...'),
    ("docstrings", "core/a.py", '"""Module."""\nclass A: ...'),
    ("docstrings", "core/a.py", '"""Module."""\nclass A:\n    """A."""\n    def f(self): ...'),
    ("docstrings", "core/a.py", '"""Module."""\ndef f():\n    """ """'),
    ("docstrings", "engines/a.py", '"""Module."""\nclass A: ...'),
    ("docstrings", "engines/a.py", '"""Module."""\ndef f(): ...'),
    ("broad-except", "core/a.py", "try: f()\nexcept Exception: g()"),
    ("broad-except", "faces/cli/output.py", "try: f()\nexcept BaseException as error: g(error)"),
    ("broad-except", "services/a.py", "try: f()\nexcept: g()"),
    ("broad-except", "services/a.py", "try: f()\nexcept (KeyError, Exception): g()"),
    ("broad-except", "services/a.py", "import builtins\ntry: f()\nexcept builtins.Exception: g()"),
    ("broad-except", "services/a.py", "try: f()\nexcept* Exception: g()"),
    ("broad-except", "services/a.py", "from contextlib import suppress\nwith suppress(Exception): f()"),
    ("silent-except", "core/a.py", "try: f()\nexcept KeyError: pass"),
    ("silent-except", "core/a.py", "for x in y:\n    try: f()\n    except KeyError: continue"),
    ("silent-except", "core/a.py", "try: f()\nexcept KeyError: ..."),
    ("silent-except", "faces/cli/main.py", "try: f()\nexcept Exception:\n    'Why not.'\n    pass"),
    ("clock-and-entropy", "services/a.py", "import time"),
    ("clock-and-entropy", "services/a.py", "from time import monotonic"),
    ("clock-and-entropy", "engines/files/write.py", "import random"),
    ("clock-and-entropy", "engines/files/write.py", "def f():\n    from uuid import uuid4"),
    ("clock-and-entropy", "faces/hooks/quick.py", "import secrets"),
    ("clock-and-entropy", "services/a.py", "import datetime\ndef f(): return datetime.datetime.now()"),
    ("clock-and-entropy", "services/a.py", "from datetime import datetime as dt\ndef f(): dt.utcnow()"),
    ("clock-and-entropy", "services/a.py", "from datetime import date\ndef f(): date.today()"),
    ("clock-and-entropy", "services/a.py", "from datetime import datetime\nx = field(default=datetime.now)"),
    ("clock-and-entropy", "services/a.py", "import os\ndef f(): return os.urandom(4)"),
    ("clock-and-entropy", "services/a.py", "from os import urandom\ndef f(): return urandom(4)"),
    ("disk-writes", "services/a.py", "def f(p): open(p, 'w')"),
    ("disk-writes", "services/a.py", "def f(p): open(p, mode='ab')"),
    ("disk-writes", "services/a.py", "def f(p): open(p, 'x')"),
    ("disk-writes", "services/a.py", "def f(p): open(p, 'r+')"),
    ("disk-writes", "services/a.py", "def f(p, m): open(p, m)"),
    ("disk-writes", "services/a.py", "def f(p): p.open('w')"),
    ("disk-writes", "services/a.py", "def f(p): p.open(mode='a')"),
    ("disk-writes", "services/a.py", "def f(p, mode): p.open(mode)"),
    ("disk-writes", "services/a.py", "def f(p, m): p.open(mode=m)"),
    ("disk-writes", "services/a.py", "import gzip\ndef f(p): gzip.open(p, 'wb')"),
    ("disk-writes", "services/a.py", "def f(p): p.write_text('')"),
    ("disk-writes", "services/a.py", "def f(p): Path(p).write_bytes(b'')"),
    ("disk-writes", "services/a.py", "def f(p): p.touch()"),
    ("disk-writes", "services/a.py", "def f(p): p.mkdir(parents=True)"),
    ("disk-writes", "services/a.py", "def f(p, q): p.rename(q)"),
    ("disk-writes", "services/a.py", "def f(p, q): p.replace(q)"),
    ("disk-writes", "services/a.py", "def f(p): p[0].unlink()"),
    ("disk-writes", "services/a.py", "def f(p): p.rmdir()"),
    ("disk-writes", "services/a.py", "def f(p, q): p.symlink_to(q)"),
    ("disk-writes", "services/a.py", "def f(p, q): p.hardlink_to(q)"),
    ("disk-writes", "services/a.py", "import os\ndef f(p): os.open(p, os.O_WRONLY)"),
    ("disk-writes", "services/a.py", "import os\ndef f(p): os.open(p, os.O_RDONLY | os.O_CREAT)"),
    ("disk-writes", "services/a.py", "import os\ndef f(p, flags): os.open(p, flags)"),
    ("disk-writes", "services/a.py", "import os\nF = os.O_RDWR\ndef f(p): os.open(p, F)"),
    *(
        ("disk-writes", "services/a.py", f"import os\ndef f(a): os.{name}(a)")
        for name in sorted(words("write rename replace link symlink unlink remove mkdir makedirs"))
    ),
    ("disk-writes", "services/a.py", "import os\ndef f(a): os.rmdir(a)"),
    ("disk-writes", "services/a.py", "import os\ndef f(a): os.truncate(a, 0)"),
    ("disk-writes", "services/a.py", "import os\ndef f(a): os.ftruncate(a, 0)"),
    ("disk-writes", "services/a.py", "import os\ndef f(a): os.fsync(a)"),
    ("disk-writes", "services/a.py", "from os import replace\ndef f(a, b): replace(a, b)"),
    ("disk-writes", "services/a.py", "import shutil\ndef f(a, b): shutil.copyfile(a, b)"),
    ("disk-writes", "services/a.py", "from shutil import rmtree\ndef f(a): rmtree(a)"),
    ("disk-writes", "services/a.py", "import tempfile"),
    ("disk-writes", "services/a.py", "def f():\n    from tempfile import mkstemp"),
    ("disk-writes", "engines/files/archive.py", "def f(p): p.write_text('')"),
    ("disk-reads", "services/a.py", "def f(p): open(p)"),
    ("disk-reads", "engines/files/archive.py", "def f(p):\n    with open(p, 'rb') as file: file.read()"),
    ("disk-reads", "services/a.py", "import builtins\ndef f(p): builtins.open(p)"),
    ("disk-reads", "services/a.py", "import io\ndef f(p): io.open(p)"),
    ("disk-reads", "services/a.py", "from io import open as look\ndef f(p): look(p)"),
    ("disk-reads", "wiring/a.py", "from pathlib import Path\ndef f(p): Path(p).open()"),
    ("disk-reads", "wiring/a.py", "def f(p): p.open('rb')"),
    ("disk-reads", "wiring/a.py", "def f(p): p.read_text(encoding='utf-8')"),
    ("disk-reads", "wiring/a.py", "def f(p): (p / 'x').read_bytes()"),
    ("disk-reads", "wiring/a.py", "def f(p): list(p.iterdir())"),
    ("disk-reads", "wiring/a.py", "def f(p): p.glob('*')"),
    ("disk-reads", "wiring/a.py", "def f(p): p.rglob('*')"),
    ("disk-reads", "wiring/a.py", "def f(p): p.walk()"),
    ("disk-reads", "wiring/a.py", "import glob"),
    ("disk-reads", "wiring/a.py", "def f():\n    from glob import iglob"),
    ("disk-reads", "wiring/a.py", "import tomllib\ndef f(file): tomllib.load(file)"),
    ("disk-reads", "engines/a.py", "import os\ndef f(p): os.open(p, os.O_RDONLY)"),
    ("disk-reads", "engines/a.py", "from os import scandir\ndef f(p): scandir(p)"),
    *(
        ("disk-reads", "engines/files/journals.py", f"import os\ndef f(p): os.{name}(p)")
        for name in ("fdopen", "listdir", "scandir", "walk", "fwalk")
    ),
    ("disk-reads", "engines/a.py", "import sqlite3\ndef f(p): sqlite3.connect(p)"),
    ("disk-reads", "engines/a.py", "import shutil\ndef f(p): shutil.copy(p, p)"),
    ("disk-reads", "engines/user_folders.py", "import shutil\ndef f(p): shutil.copy(p, p)"),
    ("disk-reads", "engines/sqlite/database.py", "import os\ndef f(p): os.open(p, os.O_RDONLY)"),
    ("disk-reads", "faces/hooks/quick.py", "def f(p): open(p)"),
    ("environment", "wiring/a.py", "import os\ndef f(): return g(os.environ)"),
    ("environment", "wiring/a.py", "from os import environ as e\ndef f(): return e['HOME']"),
    ("environment", "engines/a.py", "import os\ndef f(): return os.getenv('HOME')"),
    ("environment", "engines/git/repository.py", "import os\ndef f(): return os.getcwd()"),
    ("environment", "actions/a.py", "from pathlib import Path\ndef f(): return Path.cwd()"),
    ("environment", "actions/a.py", "import sys\ndef f(): return sys.stdin.read()"),
    ("environment", "services/log/a.py", "def f(out): return out.isatty()"),
    ("environment", "trackers/a.py", "import sys\ndef f(): return sys.argv[0]"),
    ("no-shell", "engines/a.py", "import subprocess\ndef f(c): subprocess.run(c, shell=True)"),
    ("no-shell", "engines/a.py", "from subprocess import run\ndef f(c, s): run(c, shell=s)"),
    ("no-shell", "engines/a.py", "import os\ndef f(c): os.system(c)"),
    ("no-shell", "engines/a.py", "from os import popen as p\ndef f(c): p(c)"),
    ("no-shell", "engines/a.py", "import subprocess\ndef f(c): subprocess.getoutput(c)"),
    ("mutable-globals", "core/a.py", "X = []"),
    ("mutable-globals", "core/a.py", "X: Final = {'a': 1}"),
    ("mutable-globals", "core/a.py", "X = {1, 2}"),
    ("mutable-globals", "core/a.py", "X = [a for a in (1, 2)]"),
    ("mutable-globals", "core/a.py", "X = dict(a=1)"),
    ("mutable-globals", "core/a.py", "X = set[str]()"),
    ("mutable-globals", "core/a.py", "from collections import defaultdict\nX = defaultdict(list)"),
    ("mutable-globals", "core/a.py", "if True:\n    X = []"),
    ("mutable-globals", "core/a.py", "try: X = []\nexcept KeyError: Y = {}"),
    ("mutable-globals", "core/a.py", "X = (1, [2])"),
    ("mutable-globals", "core/a.py", "from types import MappingProxyType\nX = MappingProxyType({'a': []})"),
    ("mutable-globals", "core/a.py", "x = 1\ndef f():\n    global x\n    x = 2"),
    ("import-work", "core/a.py", "configure()"),
    ("import-work", "core/a.py", "if True:\n    logging.basicConfig()"),
    ("import-work", "core/a.py", "try: f()\nexcept KeyError: raise"),
    ("import-work", "core/a.py", "for x in y: z = x"),
    ("import-work", "core/a.py", "with x: y = 1"),
    ("hosts", "services/a.py", "X = 'CODEX_HOME'"),
    ("hosts", "faces/cli/a.py", "def f(x): return f'{x}: Claude Code'"),
    ("paths", "services/a.py", "X = '.conductor'"),
    ("paths", "services/a.py", "def f(root): return f'{root}/thoughts/shared/x'"),
    ("paths", "services/a.py", "X = 'LEDGER.md'"),
    ("paths", "wiring.py", "import os\ndef f(root): return os.path.join(root, 'journal')"),
    ("paths", "wiring.py", "def f(root): return root / 'journal'"),
)

# (rule, path, source): must not be reported.
NEAR_MISSES = (
    (
        "import-direction",
        "core/a.py",
        "from passdown.core import ids\nfrom passdown.errors import FormatError",
    ),
    ("import-direction", "core/a.py", "from passdown import __version__\nimport passdown"),
    ("import-direction", "core/a.py", "from . import ids\nfrom .times import parse_time"),
    ("import-direction", "core/a.py", "import passdown_extra.services"),
    ("import-direction", "settings.py", "from passdown.core.ids import AgentId"),
    ("import-direction", "ports/a.py", "from passdown.core import ids\nfrom passdown.ports import clock"),
    (
        "import-direction",
        "services/a.py",
        "from passdown.settings import S\nfrom passdown.ports import clock",
    ),
    ("import-direction", "engines/a.py", "from passdown.ports import clock"),
    ("import-direction", "wiring/a.py", "from passdown.engines import system\nimport passdown.services.a"),
    (
        "import-direction",
        "faces/cli/a.py",
        "from passdown import wiring, settings\nimport passdown.services.a",
    ),
    ("import-direction", "faces/hooks/quick.py", "from passdown.engines.files import write"),
    ("import-direction", "testing/a.py", "from passdown.faces.cli import main\nimport passdown.testing.b"),
    ("import-direction", "__main__.py", "from passdown.faces.cli.main import main"),
    ("import-direction", "__init__.py", '__version__ = "1"'),
    ("room-order", "services/sessions/a.py", "from passdown.services.sessions.journals import read"),
    (
        "room-order",
        "services/sessions/a.py",
        "from passdown.services.log.events import write\nimport passdown.core",
    ),
    (
        "room-order",
        "core/formats/a.py",
        "from passdown.core import facts\nfrom passdown.core.ids import is_id",
    ),
    ("room-order", "core/__init__.py", ""),
    ("room-order", "core/unlisted.py", "from passdown.errors import FormatError"),
    ("room-order", "faces/cli/a.py", "from passdown.services.log import events"),
    ("engine-folders", "engines/git/a.py", "from passdown.engines.files import write\nfrom .b import c"),
    ("engine-folders", "engines/git/a.py", "from passdown.engines.system import SystemClock"),
    ("engine-folders", "wiring/a.py", "from passdown.engines import git, sqlite"),
    ("core-purity", "core/a.py", "def f():\n    import yaml\n    return yaml.compose('')"),
    ("core-purity", "core/a.py", "import re\nfrom collections import abc\nX = re.compile('x')"),
    ("core-purity", "core/a.py", "def f(at, zone): return at.astimezone(zone)"),
    ("core-purity", "core/a.py", "def f(lease, now): return lease.until < now"),
    ("core-purity", "engines/a.py", "import os\nX = os.environ"),
    ("ports", "ports/a.py", "class P(Protocol):\n" + _methods(10)),
    ("ports", "ports/a.py", "class P:\n    def m(self) -> None: ..."),
    (
        "no-second-port",
        "services/a.py",
        "from passdown.ports.repository import Skipped\ndef f(x): return isinstance(x, Skipped)",
    ),
    ("no-any", "core/a.py", "def f(x): return any(x)"),
    ("no-any", "core/a.py", "class Any: ...\nx: Any"),
    ("no-any", "faces/mcp/a.py", "from typing import Any"),
    ("module-size", "core/a.py", _lines(600)),
    ("function-size", "core/a.py", _function(60)),
    ("function-size", "core/a.py", _FOUR_LEVELS),
    ("function-size", "core/a.py", _IFS),
    ("function-size", "core/a.py", _TEN_BRANCHES + "    return x or y or z"),
    ("function-size", "core/a.py", "class A:\n    def f(self, a, b, c, d, *, e, f): ..."),
    ("names", "core/based.py", ""),
    ("names", "core/applications.py", ""),
    ("docstrings", "engines/a.py", '"""Module."""\nclass A:\n    """A."""\n    def f(self): ...'),
    ("docstrings", "core/a.py", '"""Module."""\ndef _f(): ...\nclass _A:\n    def f(self): ...'),
    ("docstrings", "core/a.py", '"""Module."""\n@overload\ndef f(): ...\ndef f():\n    """F."""'),
    ("docstrings", "core/a.py", '"""Module."""\ndef f():\n    """F."""\n    def g(): ...'),
    ("broad-except", "faces/cli/main.py", "try: f()\nexcept Exception as error: report(error)"),
    ("broad-except", "services/a.py", "try: f()\nexcept (KeyError, ExceptionGroup): g()"),
    ("silent-except", "core/a.py", "try: f()\nexcept KeyError: x = 1"),
    ("silent-except", "core/a.py", "try: f()\nexcept KeyError: return_value()"),
    (
        "clock-and-entropy",
        "engines/system.py",
        "import secrets, time\nfrom datetime import datetime\ndatetime.now()",
    ),
    ("clock-and-entropy", "faces/hooks/quick.py", "import time\ntime.time_ns()"),
    ("clock-and-entropy", "services/a.py", "def f(clock): return clock.now()"),
    ("clock-and-entropy", "services/a.py", "from datetime import datetime, time\nx = datetime.fromisoformat"),
    ("clock-and-entropy", "services/a.py", "from passdown.core import times"),
    ("disk-reads", "engines/files/read.py", "import os, glob\ndef f(p): os.open(p, 0); os.scandir(p)"),
    ("disk-reads", "engines/files/write.py", "import os\ndef f(p): os.open(p, os.O_WRONLY)"),
    ("disk-reads", "faces/hooks/quick.py", "import os\ndef f(p): os.open(p, os.O_RDONLY)"),
    ("disk-reads", "engines/sqlite/database.py", "import sqlite3\ndef f(p): sqlite3.connect(p)"),
    ("disk-reads", "engines/programs.py", "import shutil\ndef f(p): shutil.which(p)"),
    ("disk-reads", "services/a.py", "def f(loops, task): loops.open(task); task.read()"),
    ("disk-reads", "services/a.py", "import tomllib\ndef f(text): tomllib.loads(text)"),
    ("disk-reads", "services/a.py", "import os\ndef f(p): os.stat(p); os.read(1, 2); os.lstat(p)"),
    ("disk-reads", "engines/a.py", "from passdown.engines.files import read\nread.read('r', 'p', 1)"),
    ("disk-writes", "engines/files/write.py", "import os, tempfile\ndef f(a, b): os.replace(a, b)"),
    ("disk-writes", "engines/files/archive.py", "import os\ndef f(a, b): os.rename(a, b); a.unlink()"),
    (
        "disk-writes",
        "services/a.py",
        "def f(p): open(p); open(p, 'rb'); open(p, mode='r'); p.open(); p.open('r')",
    ),
    ("disk-writes", "services/a.py", "def f(x): return x.replace('a', 'b').replace('a', 'b', 1)"),
    ("disk-writes", "services/a.py", "def f(at): return at.replace(tzinfo=None)"),
    ("disk-writes", "services/a.py", "import passdown.records\ndef f(x): passdown.records.replace(x)"),
    (
        "disk-writes",
        "services/a.py",
        "from passdown.records import replace\ndef f(x): replace(x, a=1)",
    ),
    ("disk-writes", "services/a.py", "import os\ndef f(p): os.open(p, os.O_RDONLY | os.O_CLOEXEC)"),
    (
        "disk-writes",
        "services/a.py",
        "import os\ndef f(p): os.open(p, os.O_RDONLY | getattr(os, 'O_BINARY', 0))",
    ),
    ("disk-writes", "services/a.py", "import os\nF = os.O_RDONLY\ndef f(p): os.open(p, F)"),
    ("disk-writes", "engines/a.py", "from passdown.engines.files import write\nwrite.replace(x)"),
    ("disk-writes", "services/a.py", "def f(loops, task): loops.open(task); sys.stdout.write('')"),
    ("disk-writes", "services/a.py", "import shutil, os\nshutil.which('git')\nos.stat('x')\nos.read(1, 2)"),
    ("environment", "faces/cli/a.py", "import os\ndef f(): return os.environ"),
    ("environment", "wiring/a.py", "import sys\ndef f(around): return around.environ, sys.platform"),
    ("environment", "engines/git/repository.py", "import os\ndef f(): return dict(os.environ)"),
    ("no-shell", "engines/a.py", "import subprocess\ndef f(c): subprocess.run(c, shell=False)"),
    ("no-shell", "engines/a.py", "def f(host): host.system('x')"),
    ("no-second-port", "ports/a.py", "from typing import Protocol\nclass P(Protocol): ..."),
    ("no-second-port", "services/a.py", "def f(x): return isinstance(x, Committed)"),
    ("mutable-globals", "core/a.py", "__all__ = ['x']"),
    ("mutable-globals", "core/a.py", "X = (1, 2)\nY = frozenset({1})\nZ = tuple([1])\nW: list[int]"),
    ("mutable-globals", "core/a.py", "from types import MappingProxyType\nX = MappingProxyType({'a': (1,)})"),
    ("mutable-globals", "core/a.py", "def f():\n    x = []\n    return x"),
    ("mutable-globals", "core/a.py", "class A:\n    x = field(default_factory=list)"),
    ("import-work", "core/a.py", "X = re.compile('x')\n@decorated()\ndef f(): g()"),
    ("import-work", "faces/cli/main.py", "if __name__ == '__main__':\n    main()"),
    ("import-work", "core/a.py", "if TYPE_CHECKING:\n    import re"),
    ("hosts", "hosts/codex/a.py", "X = 'CODEX_HOME'"),
    ("hosts", "services/a.py", "def f():\n    'As Codex has it.'\n    return 'generic'"),
    ("paths", "layout.py", "RUNTIME = '.conductor'"),
    ("paths", "services/a.py", "def f():\n    'Look into `.conductor`.'\n    return 'write a passdown.toml'"),
    ("paths", "services/a.py", "def f(root, name): return root / name"),
    ("paths", "engines/git/a.py", "import os\ndef f(root): return os.path.join(root, 'refs')"),
)


_CLASS = "class Same:\n    ..."
_PASSES_ON = "class B:\n    def f(self): return self._inner.f()"
_SETTINGS = (
    "class Commits:\n    start: bool = False\nclass Settings:\n    commit: Annotated[Commits, 'When.'] = 1"
)

_COLORS = "class _Color(StrEnum):\n    RED = 'red'\n    BLUE = 'blue'"
_POINT = "@record\nclass _Point:\n    y: int\n    label: str = ''"
_OTHER = "class _Other(NamedTuple):\n    label: str"
_PLACED = "@record\nclass _Point:\n    y: Annotated[int, in_key()]\n    label: Annotated[str, in_key()] = ''"

# (rule, {path: source}): must be reported.
PLANTED_TREES: tuple[tuple[str, dict[str, str]], ...] = (
    ("folder-size", {f"ports/m{number}.py": "" for number in range(21)}),
    ("folder-size", {f"faces/cli/commands/m{number}.py": "" for number in range(21)}),
    ("folder-size", {f"m{number}.py": "" for number in range(21)}),
    ("names-once", {"core/a.py": _CLASS, "ports/b.py": _CLASS}),
    ("names-once", {"core/a.py": f"{_CLASS}\n{_CLASS}"}),
    ("no-circles", {"core/a.py": "import passdown.core.b", "core/b.py": "from passdown.core import a"}),
    ("no-circles", {"core/a.py": "from .b import x", "core/b.py": "from passdown.core.a import y"}),
    (
        "no-circles",
        {
            "core/a.py": "def f():\n    from passdown.core.b import x",
            "core/b.py": "if TYPE_CHECKING:\n    from passdown.core.c import x",
            "core/c.py": "def f():\n    importlib.import_module('passdown.core.a')",
        },
    ),
    (
        "no-circles",
        {"core/__init__.py": "from passdown.core import a", "core/a.py": "from passdown.core import NAME"},
    ),
    ("called", {"core/a.py": "def f(): ..."}),
    ("called", {"services/a.py": "def f(n): return f(n - 1)", "faces/b.py": "def f(): ...\nf()"}),
    ("called", {"core/a.py": "LIMIT = 3", "core/b.py": "LIMIT = 3\n_X = LIMIT"}),
    ("called", {"core/a.py": "class A: ...", "testing/b.py": "from passdown.core.a import A\nA()"}),
    ("called", {"core/a.py": "class _A:\n    def f(self): ..."}),
    ("called", {"ports/a.py": "class _A:\n    def f(self): ...", "engines/b.py": _PASSES_ON}),
    ("settings-read", {"settings.py": _SETTINGS}),
    ("settings-read", {"settings.py": _SETTINGS, "services/a.py": "_X = event.start"}),
    ("settings-read", {"settings.py": f"{_SETTINGS}\n_X = Settings().commit.start"}),
    ("members-made", {"core/a.py": f"{_COLORS}\n_X = _Color.RED"}),
    ("members-made", {"core/a.py": f"{_COLORS}\n_X = [_Color.RED, one is _Color.BLUE]"}),
    ("members-made", {"core/a.py": f"{_COLORS}\n_X = _Color.RED", "testing/b.py": "_X = _Color.BLUE"}),
    (
        "members-made",
        {"core/a.py": f"{_COLORS}\nmatch _Color.RED:\n    case _Color.BLUE:\n        ...", "core/b.py": ""},
    ),
    ("fields-used", {"core/a.py": f"{_POINT}\n_X = _Point(3, label='').y"}),
    ("fields-used", {"core/a.py": f"{_POINT}\n_X = [_Point(3).label, p.y]"}),
    ("fields-used", {"core/a.py": f"{_POINT}\n_X = [_Point(3).label, p.y, _Other(label='')]\n{_OTHER}"}),
    (
        "fields-used",
        {"core/formats/examples.py": "_X = _Point(3, 'a')", "core/a.py": f"{_POINT}\n_X = p.y, p.label"},
    ),
    ("fields-used", {"core/formats/a.py": _PLACED, "core/b.py": "_X = _Point(3)"}),
)

# (rule, {path: source}): must be left alone.
TREES_NEAR_MISSES: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "folder-size",
        {f"{folder}/m{number}.py": "" for folder in ("ports", "ports/inner") for number in range(20)},
    ),
    ("names-once", {"core/a.py": _CLASS, "core/b.py": "class Other: ...\nclass _Same: ..."}),
    ("names-once", {"core/a.py": "class _Same: ...", "core/b.py": "class _Same: ..."}),
    ("names-once", {"core/a.py": _CLASS, "core/b.py": "def Same(): ...\nclass A:\n    class Same: ..."}),
    (
        "no-circles",
        {
            "core/a.py": "from passdown.core import b, c",
            "core/b.py": "from passdown.core import c",
            "core/c.py": "import passdown\nfrom other.core import a",
            "core/d.py": "from passdown.core import d as again",
        },
    ),
    ("called", {"core/a.py": "def _f(): ...", "engines/b.py": "def f(): ..."}),
    ("called", {"core/a.py": "def f(): ...", "faces/b.py": "from passdown.core.a import f as g\ng()"}),
    ("called", {"core/a.py": "def f(): ...", "faces/b.py": "from passdown.core import a\n_X = [a.f]"}),
    ("called", {"core/a.py": "LIMIT = 3\ndef _f(): return LIMIT"}),
    (
        "called",
        {"ports/a.py": "class A: ...", "faces/b.py": "from passdown.ports.a import A\ndef f(x: 'A'): ..."},
    ),
    (
        "called",
        {
            "core/a.py": "def f(): ...",
            "core/__init__.py": "from passdown.core.a import f",
            "faces/b.py": "from passdown.core import f\nf()",
        },
    ),
    ("called", {"core/a.py": "class _A:\n    def f(self): ...\n    def _g(self): return self.f()"}),
    ("settings-read", {"settings.py": _SETTINGS, "services/a.py": "_X = workspace.settings.commit.start"}),
    ("settings-read", {"settings.py": _SETTINGS, "services/a.py": "w = a.settings.commit\n_X = w.start"}),
    ("settings-read", {"settings.py": _SETTINGS, "faces/a.py": "def f(w: 'Commits'): return w.start"}),
    ("settings-read", {"settings.py": "class Other:\n    start: bool"}),
    ("members-made", {"core/a.py": f"{_COLORS}\n_X = {{_Color.RED: f(_Color.BLUE)}}"}),
    ("members-made", {"core/a.py": f"{_COLORS}\n_X = _Color(text)"}),
    ("members-made", {"core/a.py": _COLORS, "settings.py": "class View:\n    color: Annotated[_Color, 'x']"}),
    ("members-made", {"core/a.py": _COLORS, "core/formats/b.py": "class Page:\n    color: _Color | None"}),
    ("fields-used", {"core/a.py": f"{_POINT}\n_X = [_Point(3, 'a').label, p.y]"}),
    ("fields-used", {"core/a.py": f"{_POINT}\n_X = [_Point(*a).label, p.y]"}),
    ("fields-used", {"core/a.py": f"{_POINT}\n_X = [replace(p, label='').label, p.y]"}),
    ("fields-used", {"core/a.py": f"{_POINT}\np.label.append(p.y)"}),
    ("fields-used", {"core/formats/a.py": _PLACED, "core/b.py": "_X = _Point(3, label='a')"}),
    (
        "fields-used",
        {"core/formats/a.py": _PLACED.replace("()", "(required=False)"), "core/b.py": "_Point(3)"},
    ),
    ("fields-used", {"settings.py": _POINT}),
)


def _reported(root: Path, path: str, source: str) -> list[str]:
    """The names of the rules that one planted file breaks."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(source), encoding="utf-8")
    return [line.split(": ")[1] for line in violations(root)]


@pytest.mark.parametrize(("rule", "path", "source"), PLANTED)
def test_planted_violation_is_reported(tmp_path: Path, rule: str, path: str, source: str) -> None:
    assert rule in _reported(tmp_path, path, source)


@pytest.mark.parametrize(("rule", "path", "source"), NEAR_MISSES)
def test_near_miss_is_left_alone(tmp_path: Path, rule: str, path: str, source: str) -> None:
    reported = _reported(tmp_path, path, source)

    assert rule not in reported
    assert "syntax" not in reported


def _reported_tree(root: Path, sources: dict[str, str]) -> list[str]:
    """The names of the rules that a planted package breaks."""
    for path, source in sources.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    return [line.split(": ")[1] for line in violations(root)]


@pytest.mark.parametrize(("rule", "sources"), PLANTED_TREES)
def test_planted_violation_of_several_files_is_reported(
    tmp_path: Path, rule: str, sources: dict[str, str]
) -> None:
    assert _reported_tree(tmp_path, sources).count(rule) == 1


@pytest.mark.parametrize(("rule", "sources"), TREES_NEAR_MISSES)
def test_near_miss_of_several_files_is_left_alone(tmp_path: Path, rule: str, sources: dict[str, str]) -> None:
    reported = _reported_tree(tmp_path, sources)

    assert rule not in reported
    assert "syntax" not in reported


def test_every_rule_has_planted_violations_and_near_misses() -> None:
    modules: tuple[ModuleType, ...] = (callers, imports, promises, shape, effects, knowledge, values, whole)
    written = {name for module in modules for name in vars(module) if name.startswith("rule_")}
    rules: list[Callable[..., object]] = [*RULES, *WHOLE_RULES]
    names = {rule_name(rule) for rule in rules}

    assert {rule.__name__ for rule in rules} == written
    assert {rule for rule, *_ in (*PLANTED, *PLANTED_TREES)} == names
    assert {rule for rule, *_ in (*NEAR_MISSES, *TREES_NEAR_MISSES)} == names


def test_finding_names_file_line_rule_and_reason(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.py").write_text('"""A."""\n\nimport os\n', encoding="utf-8")

    assert violations(tmp_path) == ["core/a.py:3: core-purity: core may not import os"]


def test_file_that_does_not_parse_is_reported(tmp_path: Path) -> None:
    assert _reported(tmp_path, "core/a.py", "def") == ["syntax"]
