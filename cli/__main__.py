"""``python -m cli`` is ``hushgate``: for whoever starts it as a child process."""

from cli.main import main

main()
