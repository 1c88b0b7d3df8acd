"""Searches by sampling: options, the loop with its ledger, evaluators, pools and the run folder."""
