"""`python -m relgrad`: the command line where scripts are not on the path."""

import sys

from relgrad.cli import main

if __name__ == "__main__":
    sys.exit(main())
