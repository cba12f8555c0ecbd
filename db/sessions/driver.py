"""The form of a database URL that names our driver."""


def driver_url(url: str) -> str:
    """The URL with the name of our driver, as SQLAlchemy requires it."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql+psycopg{separator}{rest}" if scheme in ("postgres", "postgresql") else url
