"""The lanes as a small state machine, explored exhaustively, and the Lua compared with it."""
