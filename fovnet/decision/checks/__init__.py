"""Reasons not to trust an answer, one file per doubt: code, words, measure, bar and sentence.

check            what each of them has
unlike_training  one of them, which services count
"""
