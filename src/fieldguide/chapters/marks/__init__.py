"""Field marks: what tells a kind from the others, and which of it a new image shows."""
