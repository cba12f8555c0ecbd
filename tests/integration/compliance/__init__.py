"""Compliance: erasure, holds, appeals, statements of reasons, audit log."""
