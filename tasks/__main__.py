"""``python -P -m tasks worker`` or ``beat``: Celery with our application, also beside a host's ``tasks.py``.

``celery -A tasks.app`` looks in the current folder first, and loads every command of Celery with its shell:
10 MB that a worker never needs.
"""

from __future__ import annotations

import sys
from importlib import import_module

from celery.bin.base import CLIContext

from tasks.app import app

if __name__ == "__main__":
    name = sys.argv[1]
    command = getattr(import_module(f"celery.bin.{name}"), name)
    context = CLIContext(app=app, no_color=False, workdir=None)
    command.main(sys.argv[2:], obj=context, prog_name=f"hushgate {name}", auto_envvar_prefix="CELERY")
