"""What the user asked for: options, chosen rules, comments that suppress."""
