"""Reasons not to trust an answer, a file a doubt: code, words, measure, bar and sentence.

    check  what each of them has
"""
