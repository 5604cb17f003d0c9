"""What would make a config ready: options, found and tried."""
