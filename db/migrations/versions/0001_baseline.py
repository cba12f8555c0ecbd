"""The first revision: what ``db.schema.baseline`` creates. Later migrations start from the database of release 0.1.0."""

revision: str = "0001"
down_revision: str | None = None
