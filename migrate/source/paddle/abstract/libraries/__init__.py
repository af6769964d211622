"""What readers use of libraries that this program does without: as much as the shapes of a batch depend on."""
