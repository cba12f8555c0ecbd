"""What protects the people who read: covers of the organisation, and reminders of a break."""
