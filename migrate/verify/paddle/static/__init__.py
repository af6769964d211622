"""Proves a converted static model: both programs are built by their own trainer, with equal weights and batches."""
