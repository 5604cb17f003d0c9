"""The findings that there are: a file each, named like its code, found by being here."""
