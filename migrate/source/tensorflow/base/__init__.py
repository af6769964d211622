"""What every phase needs: symbols, arguments, tables and lookups as data, what a file gives the rules."""
