"""Jinja2 templates: emitted code and the HTML report. Installed as `migrate.templates`."""
