"""Places: where the mark of a kind is, on its best examples and in a new image."""
