"""One decision told: its sentence, marks, margins and trace."""
