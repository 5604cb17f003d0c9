"""Google Cloud Storage: places such as gs://bucket/folder, asked through Google's own client."""
