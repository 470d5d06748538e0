"""`python -m app` is the same as the `vitals` command."""

from app.cli import main

main()
