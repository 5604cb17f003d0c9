"""Train object detectors from pipeline.config files, and make the training hold."""
