"""What follows from a config by plain arithmetic: networks, sizes, maps, anchors."""
