"""``python -m cli`` is ``hushgate``, for programs that start it as a child process."""

from cli.main import main

main()
