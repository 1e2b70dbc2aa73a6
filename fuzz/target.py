"""Fuzz one target with atheris: `python fuzz/target.py NAME [libFuzzer options] [corpus folders]`."""

import importlib
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Run until libFuzzer stops; a finding ends the process with an error."""
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]  # on Linux only

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    with atheris.instrument_imports(include=["passdown"]):
        targets = importlib.import_module("fuzz.targets").TARGETS
    name, *options = arguments
    if name not in targets:
        sys.exit(f"There is no target {name}; there are {', '.join(targets)}.")
    target = targets[name]

    def run(data: bytes) -> None:
        target(data.decode("utf-8", "replace"))

    atheris.Setup([sys.argv[0], *options], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
