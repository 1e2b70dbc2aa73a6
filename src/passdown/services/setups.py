"""Set a checkout up: plan what is missing, show it, write it; nothing is committed."""

from typing import Annotated, Final, NamedTuple

from passdown.core.setups import (
    Areas,
    attribute_lines,
    exclude_lines,
    has_block,
    ignore_lines,
    put_block,
    render_project_file,
    take_block,
)
from passdown.errors import StorageError, UsageError
from passdown.ports.documents import Documents
from passdown.records import record
from passdown.services.checkouts import Site
from passdown.settings import FILE_NAME, Paths

IGNORE: Final = ".gitignore"
ATTRIBUTES: Final = ".gitattributes"
EXCLUDE: Final = "info/exclude"


class Change(NamedTuple):
    """A file that is made or changed: what it holds, and what it will hold."""

    path: str
    before: bytes | None
    after: bytes
    is_gits: bool = False

    @property
    def shown(self) -> str:
        """The path, as a person knows it."""
        return f".git/{self.path}" if self.is_gits else self.path


@record
class Wish:
    """How somebody wants a project to be set up."""

    is_private: Annotated[bool | None, "Keep all files out of git; None leaves it as it is."] = None
    commits: Annotated[bool, "Let Passdown commit its own files."] = True


@record
class Plan:
    """What is to be written, in this order; nothing when the project is set up."""

    is_private: Annotated[bool, "Whether all files are kept out of git."]
    changes: Annotated[tuple[Change, ...], "The files."]


def areas_of(paths: Paths) -> Areas:
    """Tell which paths are local and which are shared (C2)."""
    return Areas(
        local=(paths.runtime, paths.ledgers),
        shared=(paths.handoffs, paths.events, paths.event_archive, paths.archive),
        files=(paths.view,),
        loops=paths.loops,
    )


def is_initialised(site: Site) -> bool:
    """Say whether somebody agreed that Passdown works here by itself (C50)."""
    return site.documents.exists(FILE_NAME)


def is_private(site: Site) -> bool:
    """Say whether all files are kept out of git by rules of ours."""
    return site.git is not None and has_block(_read(site.git, EXCLUDE) or b"", site.below)


def plan_setup(site: Site, wish: Wish) -> Plan:
    """Work out what a project lacks.

    1. Rules for git come first and `passdown.toml` last: where it stands, the rest is there too.
    2. A `passdown.toml` that is there is never changed. Raises a UsageError when it says otherwise.
    3. Without git there are no rules to write.
    """
    private = is_private(site) if wish.is_private is None else wish.is_private
    changes = list(plan_rules(site, is_private=private))  # 1, 3
    if is_initialised(site):
        _refuse_other_commits(site, wish)  # 2
    else:
        text = render_project_file(commits=wish.commits and not private)
        changes.append(Change(FILE_NAME, None, text.encode()))
    return Plan(is_private=private, changes=tuple(changes))


def _refuse_other_commits(site: Site, wish: Wish) -> None:
    settings = site.settings.commit
    names = [name for name in ("session_end", "handoff", "checkpoint") if getattr(settings, name)]
    if not wish.commits and names:
        hint = f"below [commit], write {', '.join(f'{name} = false' for name in names)}"
        raise UsageError(f"{FILE_NAME} is there, and is yours to change", hint=hint)


def plan_rules(site: Site, *, is_private: bool) -> tuple[Change, ...]:
    """Work out which rules git lacks; none without git.

    What is private leaves no trace in files that others get. What others got before stays as it is.
    """
    if site.git is None:
        return ()
    areas = areas_of(site.settings.paths)
    there = _read(site.git, EXCLUDE)
    if is_private:
        hidden = areas._replace(files=(*areas.files, FILE_NAME))
        lines = exclude_lines(hidden, site.below)
        found = [Change(EXCLUDE, there, put_block(there or b"", lines, site.below), is_gits=True)]
    else:
        found = [
            Change(EXCLUDE, there, take_block(there or b"", site.below), is_gits=True),
            _block(site.documents, IGNORE, ignore_lines(areas)),
            _block(site.documents, ATTRIBUTES, attribute_lines(areas)),
        ]
    return tuple(change for change in found if change.after != (change.before or b""))


def _block(documents: Documents, path: str, lines: tuple[str, ...]) -> Change:
    there = _read(documents, path)
    return Change(path, there, put_block(there or b"", lines))


def _read(documents: Documents, path: str) -> bytes | None:
    return documents.read(path) if documents.exists(path) else None


def write_setup(site: Site, changes: tuple[Change, ...]) -> None:
    """Write the files of a plan; raise a StorageError if one has changed since it was planned."""
    for change in changes:
        documents = site.git if change.is_gits and site.git is not None else site.documents
        if change.before is None:
            is_written = documents.create(change.path, change.after)
        else:
            is_written = _read(documents, change.path) == change.before
            if is_written:
                documents.replace(change.path, change.after)
        if not is_written:
            hint = "repeat the command; the newer text was kept"
            raise StorageError(f"{change.shown} has changed meanwhile; it was not written", hint=hint)
