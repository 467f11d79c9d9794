"""The colour maps and axis names that figures and explorers share."""

QUERY_LABEL = "query (attending)"
KEY_LABEL = "key (attended to)"
WEIGHT_MAP = "viridis"  # safe for colour-blind readers
SIGNED_MAP = "RdBu_r"  # for scores: white at zero
