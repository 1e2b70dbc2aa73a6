"""The type of an option or argument that names a host."""

from click import Choice, Context, Parameter

from passdown.wiring.projects import open_hosts


class HostChoice(Choice[str]):
    """The name of a host or an alias of it; help shows only the names."""

    def __init__(self) -> None:
        """List the known hosts as choices."""
        super().__init__(row.names[0] for row in open_hosts().rows)

    def convert(self, value: str, param: Parameter | None, ctx: Context | None) -> str:
        """Return the name unchanged if it is a known name or alias."""
        names = open_hosts().names()
        return value if value in names else Choice(names).convert(value, param, ctx)
