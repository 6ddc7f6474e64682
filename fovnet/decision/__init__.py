"""From slice probabilities to spans, and the reasons to doubt them: `checks/`, a file a doubt."""
