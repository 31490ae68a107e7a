"""The post-incident report: its parts, and how they are written as Markdown, HTML and JSON."""
