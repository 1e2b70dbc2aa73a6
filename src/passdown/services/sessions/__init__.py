"""Start, record, publish, observe, archive and end sessions."""
