"""The end of a session: hosts wait a second at most, so one line is written. The next start does the rest."""

from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind, Provenance
from passdown.core.levels import FOLDER
from passdown.core.moments import KEPT_BY, Reply
from passdown.faces.hooks import quick
from passdown.faces.hooks.scenes import Scene
from passdown.services.journals import beat, say
from passdown.services.levels import forget_level


def end(scene: Scene) -> Reply:
    """Write the last line; where the host goes on with another id the session does too, and has none yet."""
    account = scene.find()
    if account is None:
        return Reply()
    if scene.call.cause in KEPT_BY:
        beat(scene.project, account)
    else:
        say(scene.project, account, Said(FactKind.END, scene.call.cause or "end"), Provenance.OBSERVED)
    _forget_level(scene)
    return Reply()


def _forget_level(scene: Scene) -> None:
    """Forget how full the context was; the host will not use this id again, and most never told."""
    if quick.has_file(str(scene.root), FOLDER, scene.call.session):
        forget_level(scene.open_site(), scene.name)
