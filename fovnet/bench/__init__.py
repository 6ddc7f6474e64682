"""Recorded problems, races between search methods on them, and throughput figures."""
