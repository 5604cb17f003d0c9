"""Trainings on rented machines: what they have, what runs a job there, what would make it fail."""
