"""`python -m passdown` is `passdown`."""

import sys

from passdown.faces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
