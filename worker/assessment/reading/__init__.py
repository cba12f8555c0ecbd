"""One reading per draft: what the judge is asked, what it answers, and what code checks of the answer."""
