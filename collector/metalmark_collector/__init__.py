"""Metalmark collector: measures a machine."""
