"""SavedModels with tables become SavedModels of stock ops, which TensorFlow loads without this package."""
