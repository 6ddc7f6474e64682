"""Simulated bodies and a simulated scanner."""
