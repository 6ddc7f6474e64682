"""Reasons not to trust an answer, a file a doubt: its code and words, its measure, its bar, its sentence (`check.py` says how)."""
