def ordered(parts):
    return list(parts)
