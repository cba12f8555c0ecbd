"""Conversations: who may answer, and taking or releasing one."""
