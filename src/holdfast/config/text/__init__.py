"""The text format of configs: read into values, and written again."""
