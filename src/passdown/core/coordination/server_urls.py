"""The form of a server's URL, and what it may not contain."""

from typing import Final

from passdown.core.lazy_regex import pattern

_SECRETS: Final = ("password", "token", "secret")
_URL: Final = pattern(r"postgresql://\S+|https://[^\s/?#]\S*|unix:\S.*")


def is_url(text: str) -> bool:
    """Return whether a text is the URL of a server that sessions can coordinate through."""
    return _URL.fullmatch(text) is not None


def has_secret(url: str) -> bool:
    """Return whether a URL contains a password or token, before its host or in its query."""
    scheme, _, rest = url.partition("://")
    address, _, query = rest.partition("?")
    user = address.rpartition("@")[0]
    if ":" in user or (user and scheme == "https"):
        return True
    keys = [part.partition("=")[0].lower() for part in query.split("&")]
    return any(word in key for key in keys for word in _SECRETS)
