"""Second factors; sessions on unknown browsers, and those of the identity provider.

Law: as 0001. The previous release signs people in without their second factor, and ignores the columns.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0056"
down_revision: str | Sequence[str] | None = "0055"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
FACTOR_COLUMNS = "secret, confirmed_at, last_step, recovery_hashes"


def upgrade() -> None:
    """Add the table and the columns."""
    op.create_table(
        "second_factors",
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False, comment="the shared key of RFC 6238"),
        sa.Column(
            "confirmed_at", TIME, nullable=True, comment="when its first code was entered; null: not in use"
        ),
        sa.Column(
            "last_step",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="step of the last code used",
        ),
        sa.Column(
            "recovery_hashes",
            sa.ARRAY(sa.LargeBinary()),
            server_default=sa.text("'{}'::bytea[]"),
            nullable=False,
            comment="SHA-256 of the recovery codes that were not used",
        ),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_second_factors_person_id_people")
        ),
        sa.PrimaryKeyConstraint("person_id", name=op.f("pk_second_factors")),
        comment="code generators that people set up beside their password",
    )
    op.execute("GRANT SELECT, INSERT, DELETE ON second_factors TO hushgate_reviewer")
    op.execute(f"GRANT UPDATE ({FACTOR_COLUMNS}) ON second_factors TO hushgate_reviewer")
    op.add_column(
        "sessions",
        sa.Column(
            "new_device",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="an unknown browser, which the person has not recognised yet",
        ),
    )
    op.add_column(
        "sessions",
        sa.Column(
            "provider_session", sa.Text(), nullable=True, comment="the session of the identity provider: sid"
        ),
    )


def downgrade() -> None:
    """Drop them: people sign in with their password alone."""
    op.drop_column("sessions", "provider_session")
    op.drop_column("sessions", "new_device")
    op.drop_table("second_factors")
