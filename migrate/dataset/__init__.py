"""Raw data files -> feature map -> TFRecords, with the schema that `migrate convert` reads."""
