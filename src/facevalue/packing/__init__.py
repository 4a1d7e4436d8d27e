"""Pack of an audit: everything that it rests on in one folder, in forms that others' tools read and validate."""
