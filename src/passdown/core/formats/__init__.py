"""One module per file format: a record, its reader and its writer."""
