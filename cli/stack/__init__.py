"""Servers and processes of a local fleet, each started as a child process."""

from cli.stack.servers import Stack
