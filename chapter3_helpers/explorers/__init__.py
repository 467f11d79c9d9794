"""Explorers: move a slider and see attention follow.

Most notebooks have one, in the file of its topic, and 03 a second one, in ``pronouns``; two serve
several: ``attention`` and ``model``. What all are made of is in ``core``. What an explorer shows is
a plain function of its settings, which is what the tests and the "Python" button rely on.
"""

from chapter3_helpers.explorers.attention import attention_explorer
from chapter3_helpers.explorers.dot_products import dot_products_explorer
from chapter3_helpers.explorers.dropout import dropout_explorer
from chapter3_helpers.explorers.fused_multihead import fused_multihead_explorer
from chapter3_helpers.explorers.grouped_query import grouped_query_explorer
from chapter3_helpers.explorers.handmade_transformer import handmade_transformer_explorer
from chapter3_helpers.explorers.induction_heads import induction_heads_explorer
from chapter3_helpers.explorers.masking import masking_explorer
from chapter3_helpers.explorers.model import model_explorer
from chapter3_helpers.explorers.multihead_wrapper import multihead_wrapper_explorer
from chapter3_helpers.explorers.positions import positions_explorer
from chapter3_helpers.explorers.pronouns import pronouns_explorer
from chapter3_helpers.explorers.recurrent import recurrent_explorer
from chapter3_helpers.explorers.softmax import softmax_explorer
from chapter3_helpers.explorers.trainable_qkv import trainable_qkv_explorer

__all__ = [
    "attention_explorer",
    "dot_products_explorer",
    "dropout_explorer",
    "fused_multihead_explorer",
    "grouped_query_explorer",
    "handmade_transformer_explorer",
    "induction_heads_explorer",
    "masking_explorer",
    "model_explorer",
    "multihead_wrapper_explorer",
    "positions_explorer",
    "pronouns_explorer",
    "recurrent_explorer",
    "softmax_explorer",
    "trainable_qkv_explorer",
]
