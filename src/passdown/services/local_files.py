"""Files that stay on this machine: git is told so by a rule that lies beside them."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from passdown.ports.documents import Documents

_IGNORE: Final = b"# Everything here is local to this checkout.\n*\n"


def ignore_folder(documents: "Documents", folder: str) -> None:
    """Keep a folder of local files out of git by a rule that lies in it."""
    rule = f"{folder}/.gitignore"
    if not documents.exists(rule):
        documents.replace(rule, _IGNORE)
