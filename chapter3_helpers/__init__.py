"""Attention mechanisms written out to be read: the companion of the notebooks.

The lessons lie here, in the order in which they build on one another:

    recurrent  dot_products  softmax  trainable_qkv  masking  dropout  causal_attention
    multihead_wrapper  fused_multihead  positions  transformer_block  induction_heads
    handmade_transformer  grouped_query  performance  tensor_parallel/  real_model  real_heads

What notebooks share: sentence, lexicon, plots, diagrams/, copy_weights.
Beside real_model: gpt2, and model_files, what both read published files with.
What supports them:

    tasks/          toy tasks and languages, next-word prediction, the training loop
    benchmarks/     every implementation of attention, timed
    exercises/      what checks a reader's answers, one file a topic
    explorers/      sliders and the panels that follow them, by topic
    read_attention  what an attention module is made of
    _switches       torch as it starts, whatever a reader has switched
    _figures/       figures that carry words, tick labels in any script, colours

Letters of shapes, as in (..., H, T, D), where ... stands for any dimensions, or for none:

    B  texts (in tasks/ N)            d  numbers for each token
    T  tokens of a text               H  heads (of queries), of D numbers each
    S  keys to look at: those in a    G  heads of keys and values, fewer than H or as many
       cache and the T new ones       L  layers

The notebook one_page has a whole GPT, attention included, in one cell.

Importing the package itself costs nothing.
"""

__version__ = "0.1.0"
