"""From ids to rows: one by one, pooled, grouped, partitioned; and the gradients back."""
