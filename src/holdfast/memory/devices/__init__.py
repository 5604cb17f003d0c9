"""How much memory there is, and how it is taken."""
