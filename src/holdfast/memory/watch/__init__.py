"""Memory that grows while a training runs, and what makes it grow."""
