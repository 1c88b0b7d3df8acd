"""What is in a folder of runs, read without torch."""
