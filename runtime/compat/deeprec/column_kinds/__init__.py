"""DeepRec's feature columns over more than one variable: adaptive ones and multi-hash ones."""
