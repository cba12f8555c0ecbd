"""The one commit of an event, alone or with others."""
