"""CenterNet: objects as peaks of a heatmap."""
