"""Changes of what sessions share: written down before they are made, and finished whatever dies (C142)."""
