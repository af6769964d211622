"""`python -m migrate` is the `migrate` command."""

from migrate.cli.main import main

main()
