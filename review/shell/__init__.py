"""What surrounds every page: navigation, theme and icons."""
