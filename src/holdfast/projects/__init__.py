"""What `holdfast new` makes: a folder with a config, records and a label map."""
