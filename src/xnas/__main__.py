"""`python -m xnas` is the command `xnas`."""

from xnas.cli import main

main()
