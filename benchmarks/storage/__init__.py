"""Time of tables whose rows lie below memory, and of rows read ahead."""
