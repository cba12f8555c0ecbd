"""Hushgate beside other guardrail libraries; the clients run in virtual environments of their own."""
