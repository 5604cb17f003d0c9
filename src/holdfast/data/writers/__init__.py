"""Samples written to files: TFRecords as the OD API reads them."""
