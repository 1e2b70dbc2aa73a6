"""Ways to name one file at a prompt, in a project with links, worktrees and odd names (C145)."""

import unicodedata
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.gits import Project
from tests.support.projects import put

COMPOSED: Final = unicodedata.normalize("NFC", "caf\u00e9")
APART: Final = unicodedata.normalize("NFD", COMPOSED)


class Way(NamedTuple):
    """What somebody types, and where; `{root}` and `{tree}` are the main checkout and another worktree."""

    word: str
    folder: str = "{root}"
    options: tuple[str, ...] = ()

    def place(self, project: Path) -> "Way":
        """Fill in the folders of a project."""
        names = {"{root}": str(project), "{tree}": str(project.parent / "tree")}
        word, folder = self.word, self.folder
        for name, path in names.items():
            word, folder = word.replace(name, path), folder.replace(name, path)
        return self._replace(word=word, folder=folder)


WAYS: Final[dict[str, tuple[Way, ...]]] = {
    "src/pkg/app.py": (
        Way("src/pkg/app.py"),
        Way("./src//pkg/./app.py"),
        Way("src/pkg/app.py/"),
        Way("src"),
        Way("src/"),
        Way("src/pkg"),
        Way("src/**"),
        Way("src/*/app.py"),
        Way("**/app.py"),
        Way("src/pkg/*.py"),
        Way("src/pkg/a??.py"),
        Way("src/pkg/[a-c]pp.py"),
        Way("src/[!x]kg/app.py"),
        Way("src/pkg/{app,other}.py"),
        Way("{docs,src/pkg}/app.py"),
        Way("src/{pkg,x{1,2}}/app.py"),
        Way("src/../src/pkg/app.py"),
        Way("../project/src/pkg/app.py"),
        Way("{root}/src/pkg/app.py"),
        Way("{root}/src/"),
        Way("{root}/src/*/app.py"),
        Way("{tree}/src/pkg/app.py"),
        Way("{tree}/src"),
        Way("{root}/.trees/inner/src/pkg/app.py"),
        Way(".trees/inner/src/pkg"),
        Way("app.py", "{root}/src/pkg"),
        Way(".", "{root}/src/pkg"),
        Way("../pkg/app.py", "{root}/src/pkg"),
        Way("../../src", "{root}/src/pkg"),
        Way("*.py", "{root}/src/pkg"),
        Way("pkg/app.py", "{tree}/src"),
        Way("../../project/src/pkg/app.py", "{tree}/src"),
        Way("linked/pkg/app.py"),
        Way("linked"),
        Way("linked/pkg/*.py"),
        Way("linked/../src/pkg/app.py"),
        Way("again/pkg/app.py"),
        Way("app-link.py"),
        Way("{root}/../way/src/pkg/app.py"),
        Way("src/pkg/app.py", options=("--literal",)),
        Way("app.py", "{tree}/src/pkg", ("--literal",)),
    ),
    "web/[slug]/page.tsx": (
        Way("web/[slug]/page.tsx"),
        Way("web/[slug]"),
        Way("web/[slug]/"),
        Way("web/*/page.tsx"),
        Way("web/[[]slug]/page.tsx"),
        Way("page.tsx", "{root}/web/[slug]"),
        Way("[slug]", "{root}/web"),
        Way("web/[slug]/page.tsx", options=("--literal",)),
        Way("web/[slug]/{page,layout}.tsx"),
        Way("{tree}/web/[slug]/page.tsx"),
        Way("*/[slug]/page.tsx"),
        Way("web/[slug]/page.tsx", "{root}/.trees/inner"),
    ),
    "new/[id]/{a,b}/x.py": (
        Way("new"),
        Way("new/"),
        Way("new/[id]"),
        Way("new/[id]/**"),
        Way("new/[id]/{a,b}/x.py", options=("--literal",)),
        Way("../new/[id]", "{root}/src"),
        Way("{tree}/new/**/x.py"),
    ),
    f"{COMPOSED}/menu.txt": (
        Way(f"{COMPOSED}/menu.txt"),
        Way(f"{APART}/menu.txt"),
        Way(APART),
        Way(f"{COMPOSED}/"),
        Way("caf?/{menu,bill}.txt"),
        Way(f"{COMPOSED}-link/menu.txt"),
        Way(f"{APART}-link"),
        Way("menu.txt", f"{{root}}/{APART}"),
    ),
    "odd/! a\\b ": (
        Way("odd"),
        Way("odd/*"),
        Way("odd/! a\\b ", options=("--literal",)),
        Way("! a\\b ", "{root}/odd", ("--literal",)),
    ),
}
"""By the file that each of them covers, and so each two."""

CASES: Final = (
    Way("Src/Pkg/App.py"),
    Way("src/pkg/app.py"),
    Way("SRC"),
    Way("src/PKG/*.PY"),
    Way("src/pkg/[A-C]pp.py"),
)
"""Where the checkout ignores case."""


def make_ways_project(project: Project) -> None:
    """Put files, links and worktrees into a project; its folder is called `project`."""
    root = project.folder
    put(root, "src/pkg/app.py", "x\n")
    put(root, "web/[slug]/page.tsx", "x\n")
    put(root, f"{APART}/menu.txt", "x\n")
    put(root, "odd/! a\\b ", "x\n")
    for name, target in {
        "linked": "src",
        "again": "linked",
        "app-link.py": "linked/pkg/app.py",
        f"{APART}-link": APART,
    }.items():
        (root / name).symlink_to(target)
    (root.parent / "way").symlink_to(root)
    put(root, ".gitignore", ".trees\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=files")
    project.git("worktree", "add", "--quiet", "--detach", str(root.parent / "tree"))
    project.git("worktree", "add", "--quiet", "--detach", str(root / ".trees" / "inner"))
