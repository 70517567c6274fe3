"""What make.py is made of, with Python's own library alone: it runs before anything is installed."""
