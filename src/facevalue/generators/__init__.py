"""Generators and editors of pictures: one adapter per way to reach one, behind one interface (`base`)."""
