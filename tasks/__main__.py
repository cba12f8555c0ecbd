"""``python -P -m tasks worker``: Celery with our application, also beside a ``tasks.py`` of the host.

``celery -A tasks.app`` looks in the current folder first.
"""

from __future__ import annotations

import sys

from celery.__main__ import main

import tasks.app  # noqa: F401  # Celery finds the application among the loaded modules

if __name__ == "__main__":
    sys.argv[1:1] = ["-A", "tasks.app"]
    main()
