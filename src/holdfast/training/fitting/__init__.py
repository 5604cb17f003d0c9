"""Making a training fit: the worst batch, the traced step, the settings that fit."""
