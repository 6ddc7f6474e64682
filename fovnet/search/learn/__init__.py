"""What earlier searches teach a search of the same space.

earlier_searches  the configurations and losses of their journals
training          the networks that learn the order of these losses
"""
