"""Where values go and by which way they came, told from the solved constraint graph."""
