"""``hushgate``, and ``python -m cli`` for programs that start it as a child process."""

import signal


def main() -> None:
    """Run the command; an interrupt while it is still being loaded ends it at once."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cli.main import main as run  # noqa: PLC0415  # loading takes up to a second

    run()


if __name__ == "__main__":
    main()
