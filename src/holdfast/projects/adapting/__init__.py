"""What `holdfast adapt` does: a config for other data, another resolution or less memory."""
