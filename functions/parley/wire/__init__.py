"""Formats as they come over the wire, read strictly: URLs, JSON, media types, a stranger's text. No network."""
