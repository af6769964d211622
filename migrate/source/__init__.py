"""Source conversion: files -> facts -> verdicts -> plan -> text. No framework is imported."""
