"""What artwork that comes with the package is taken from others with; needed only to take it anew."""
