"""How good a detector is: metrics by the OD API's names."""
