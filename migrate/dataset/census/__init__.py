"""Census-Income (KDD): the data set that PaddleRec's MMoE, PLE and share-bottom are trained on."""
