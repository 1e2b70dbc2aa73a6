"""The `validation` block of a ledger's front matter: the state of the bound track's gates (R16, R17)."""

from typing import Annotated

from passdown.core.documents.fields import in_key
from passdown.records import record


@record
class Validation:
    """The state of the validation gates of the bound track."""

    gates_passed: Annotated[
        tuple[str, ...], "Gates passed for this track; a warning does not count.", in_key()
    ] = ()
    current_gate: Annotated[str | None, "The gate being validated.", in_key()] = None
    retries: Annotated[int, "Retries of the current gate; reset to 0 when it passes.", in_key()] = 0
    last_failure: Annotated[str | None, "The reason for the last failure of a gate.", in_key()] = None
