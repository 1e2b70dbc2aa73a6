"""The type of an option or argument that names a host."""

from click import Choice, Context, Parameter

from passdown.actions.callers import name_hosts


class HostChoice(Choice[str]):
    """The name of a host or an alias of it; help shows only the names."""

    def __init__(self) -> None:
        """List the known hosts as choices."""
        super().__init__(name_hosts()[0])

    def convert(self, value: str, param: Parameter | None, ctx: Context | None) -> str:
        """Return the name unchanged if it is a known name or alias."""
        names = name_hosts()[1]
        return value if value in names else Choice(names).convert(value, param, ctx)
