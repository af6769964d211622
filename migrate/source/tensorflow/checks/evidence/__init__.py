"""What recorded runs say of tables: they decide doubts, and contradict what was read in the source."""
