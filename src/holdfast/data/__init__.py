"""From files to batches: sources, augmentation, resizing, statistics, the tf.data pipeline."""
