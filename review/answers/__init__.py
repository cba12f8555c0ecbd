"""Answers of people: approving, editing or replacing what the AI drafted."""
