"""``hushgate migrate``, ``worker``, ``beat``, ``sandbox``, ``config`` and ``schema``."""
