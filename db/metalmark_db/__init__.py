"""Metalmark db: what a run is, and where it rests."""
