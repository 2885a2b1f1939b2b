"""Text of the record and of policies: made harmless, cut into sections and passages, and searched."""
