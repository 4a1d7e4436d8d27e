"""Actions of commands: what each does, imported when it runs; a module per subject."""
