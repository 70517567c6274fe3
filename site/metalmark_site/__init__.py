"""Metalmark site: from rows to pages."""
