"""The processes that train together: they meet, watch each other, and agree."""
