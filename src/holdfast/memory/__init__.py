"""How much memory there is, how much a run needs, and how to make it fit."""
