"""Each rule of the house reports what breaks it, and leaves its near misses alone."""

from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from tests.house import RULES, effects, imports, promises, rule_name, shape, violations
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
    ("import-direction", "core/a.py", "from passdown.services import documents"),
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
    ("import-direction", "engines/a.py", "import passdown.services.documents as d"),
    ("import-direction", "engines/a.py", "from passdown.settings import Settings"),
    ("import-direction", "trackers/a.py", "from passdown.services import documents"),
    ("import-direction", "hosts/a.py", "from passdown.engines import system"),
    ("import-direction", "wiring.py", "from passdown.faces.cli import main"),
    ("import-direction", "wiring.py", "import passdown.testing"),
    ("import-direction", "faces/cli/a.py", "from passdown.engines.files import write"),
    ("import-direction", "faces/cli/a.py", "from passdown.testing import builders"),
    ("import-direction", "faces/cli/a.py", 'importlib.import_module("passdown.testing.builders")'),
    ("import-direction", "faces/cli/a.py", "from passdown.plugin import skills"),
    ("import-direction", "plugin/a.py", '"""Text."""'),
    ("import-direction", "stray.py", '"""A module of no part."""'),
    ("import-direction", "extra/a.py", '"""A folder of no part."""'),
    ("service-order", "services/documents.py", "from passdown.services import sessions"),
    ("service-order", "services/documents.py", "from .sessions import start"),
    ("service-order", "services/unlisted.py", "from passdown.services.documents import check"),
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
    ("no-any", "core/a.py", "from typing import Any"),
    ("no-any", "ports/a.py", "import typing as t\ndef f(x: t.Any): ..."),
    ("no-any", "services/a.py", "if TYPE_CHECKING:\n    from typing import Any as Whatever"),
    ("no-any", "services/a.py", "import typing\nx: dict[str, typing.Any]"),
    ("module-size", "core/a.py", _lines(501)),
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
    ("import-direction", "wiring.py", "from passdown.engines import system\nimport passdown.services.a"),
    (
        "import-direction",
        "faces/cli/a.py",
        "from passdown import wiring, settings\nimport passdown.services.a",
    ),
    ("import-direction", "faces/hooks/quick.py", "from passdown.engines.files import write"),
    ("import-direction", "testing/a.py", "from passdown.faces.cli import main\nimport passdown.testing.b"),
    ("import-direction", "__main__.py", "from passdown.faces.cli.main import main"),
    ("import-direction", "__init__.py", '__version__ = "1"'),
    ("service-order", "services/documents.py", "from passdown.services.documents import part"),
    ("service-order", "services/unlisted.py", "from passdown.core import ids"),
    ("service-order", "faces/cli/a.py", "from passdown.services import documents"),
    ("engine-folders", "engines/git/a.py", "from passdown.engines.files import write\nfrom .b import c"),
    ("engine-folders", "engines/git/a.py", "from passdown.engines.system import SystemClock"),
    ("engine-folders", "wiring.py", "from passdown.engines import git, sqlite"),
    ("core-purity", "core/a.py", "def f():\n    import yaml\n    return yaml.compose('')"),
    ("core-purity", "core/a.py", "import re\nfrom collections import abc\nX = re.compile('x')"),
    ("core-purity", "core/a.py", "def f(at, zone): return at.astimezone(zone)"),
    ("core-purity", "core/a.py", "def f(lease, now): return lease.until < now"),
    ("core-purity", "engines/a.py", "import os\nX = os.environ"),
    ("ports", "ports/a.py", "class P(Protocol):\n" + _methods(10)),
    ("ports", "ports/a.py", "class P:\n    def m(self) -> None: ..."),
    ("no-any", "core/a.py", "def f(x): return any(x)"),
    ("no-any", "core/a.py", "class Any: ...\nx: Any"),
    ("no-any", "faces/mcp/a.py", "from typing import Any"),
    ("module-size", "core/a.py", _lines(500)),
    ("function-size", "core/a.py", _function(60)),
    ("function-size", "core/a.py", _FOUR_LEVELS),
    ("function-size", "core/a.py", _IFS),
    ("function-size", "core/a.py", _TEN_BRANCHES + "    return x or y or z"),
    ("function-size", "core/a.py", "class A:\n    def f(self, a, b, c, d, *, e, f): ..."),
    ("names", "core/based.py", ""),
    ("names", "core/applications.py", ""),
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
    ("no-shell", "engines/a.py", "import subprocess\ndef f(c): subprocess.run(c, shell=False)"),
    ("no-shell", "engines/a.py", "def f(host): host.system('x')"),
    ("mutable-globals", "core/a.py", "__all__ = ['x']"),
    ("mutable-globals", "core/a.py", "X = (1, 2)\nY = frozenset({1})\nZ = tuple([1])\nW: list[int]"),
    ("mutable-globals", "core/a.py", "from types import MappingProxyType\nX = MappingProxyType({'a': (1,)})"),
    ("mutable-globals", "core/a.py", "def f():\n    x = []\n    return x"),
    ("mutable-globals", "core/a.py", "class A:\n    x = field(default_factory=list)"),
    ("import-work", "core/a.py", "X = re.compile('x')\n@decorated()\ndef f(): g()"),
    ("import-work", "faces/cli/main.py", "if __name__ == '__main__':\n    main()"),
    ("import-work", "core/a.py", "if TYPE_CHECKING:\n    import re"),
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


def test_every_rule_has_planted_violations_and_near_misses() -> None:
    modules: tuple[ModuleType, ...] = (imports, promises, shape, effects)
    written = {name for module in modules for name in vars(module) if name.startswith("rule_")}
    names = {rule_name(rule) for rule in RULES}

    assert {rule.__name__ for rule in RULES} == written
    assert {rule for rule, _, _ in PLANTED} == names
    assert {rule for rule, _, _ in NEAR_MISSES} == names


def test_finding_names_file_line_rule_and_reason(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.py").write_text('"""A."""\n\nimport os\n', encoding="utf-8")

    assert violations(tmp_path) == ["core/a.py:3: core-purity: core may not import os"]


def test_file_that_does_not_parse_is_reported(tmp_path: Path) -> None:
    assert _reported(tmp_path, "core/a.py", "def") == ["syntax"]
