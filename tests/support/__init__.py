"""What several test suites share: worlds, people, fakes, samples and running programs."""
