"""Policy documents that an agent may read: a folder with a manifest, documents, and their sections."""
