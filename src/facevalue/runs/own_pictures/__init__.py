"""Pictures of one's own, and made ones: lists that are checked, pictures inspected, and accepted by rules."""
