"""Census-Income (KDD), the data set on which PaddleRec trains MMoE, PLE and share-bottom."""
