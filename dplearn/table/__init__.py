"""Private tables: validation, encoding and row access."""
