"""Recognises a draft that promises a handoff or an action that no program and no person will do."""
