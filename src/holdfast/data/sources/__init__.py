"""Where samples come from: files of several formats, and scenes made on the spot."""
