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

Importing the package itself costs nothing.
"""

__version__ = "0.1.0"
