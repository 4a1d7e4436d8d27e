"""Published studies that are files: each with what its paper needs beside."""
