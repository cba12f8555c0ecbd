"""Pages of appeals: intake by link or by a person, the list, one appeal, and statements of reasons."""
