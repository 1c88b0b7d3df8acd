"""A fit: search, training and baselines within a budget of time, to a tested, exported model."""
