"""Records of runs (`migrate trace`) as evidence for a conversion, matched to the files that are converted."""
