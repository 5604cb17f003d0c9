"""Detectors in files of other runtimes: how they are run, for exports to be proved and used."""
