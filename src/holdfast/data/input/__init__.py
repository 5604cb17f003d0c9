"""From records to the batches that training and evaluation take."""
