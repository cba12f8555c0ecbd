"""What surrounds every page: navigation, theme, icons, the command palette; the page that shows them."""
