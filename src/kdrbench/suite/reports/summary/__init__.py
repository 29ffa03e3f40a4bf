"""Pages of what a record shows, in Markdown: templates whose every number is read from the record."""
