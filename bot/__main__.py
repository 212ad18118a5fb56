"""`python -m bot` is `quartermaster`."""

from bot.cli import main

main()
