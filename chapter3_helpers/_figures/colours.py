"""The colour maps and axis names that figures and explorers share."""

QUERY_LABEL = "query (attending)"
KEY_LABEL = "key (attended to)"
WEIGHT_MAP = "viridis"  # safe for colour-blind readers
SIGNED_MAP = "RdBu_r"  # for scores: white at zero

# One colour each for the whole series: far apart for colour-blind readers too (Okabe and Ito),
# and dark enough for a white page, light enough for a dark one.
QUERY_COLOUR = "#0072B2"  # blue
KEY_COLOUR = "#D55E00"  # vermilion
VALUE_COLOUR = "#009E73"  # bluish green
