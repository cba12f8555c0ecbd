"""Optional feature: erasure with receipts, legal holds, appeals, statements of reasons, audit log."""
