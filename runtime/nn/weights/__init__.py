"""What layers hold and graphs create: parameters, rows of tables, and their values as arrays."""
