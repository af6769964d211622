"""Which files a command works on, who imports whom, and what may run in one program. No framework is known here."""
