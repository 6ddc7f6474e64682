"""From slice probabilities to spans."""
