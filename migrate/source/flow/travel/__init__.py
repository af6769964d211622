"""Where values go, told from the solved constraint graph."""
