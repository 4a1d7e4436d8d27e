"""Commands as declarations, in groups by what a person does; what each does is imported when it runs."""
