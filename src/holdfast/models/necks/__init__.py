"""Parts that turn the features of a backbone into those a head sees."""
