"""Where published weights are, and how they come to this machine."""
