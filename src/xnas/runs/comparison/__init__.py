"""Comparisons: methods and samplers, seeds, data and spaces, and which differences exceed noise."""
