"""Search for settings: many short trainings, of which the next ones learn."""
