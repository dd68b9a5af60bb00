"""Private tables as the code sees them: how they are read, encoded and held."""
