"""What would make a job fail, looked for before it is paid for."""
