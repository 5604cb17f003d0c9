"""From one form of a data set to another: any source to TFRecords, and out again."""
