"""A search whose slots are jobs of their own, on one machine or on several.

steps      begin, propose, finish, gather: each reads the journal and writes one result
proposals  what slots there are and what they wait for; fast to import
"""
