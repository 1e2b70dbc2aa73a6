"""`python -m passdown` is `passdown`."""

from passdown.faces.cli.main import run

if __name__ == "__main__":
    run()
