"""Everyday words whose features have names, so that one can say why two words match.

A word has a 1 for each of its features, so the dot product of two words counts what they share:
*cat* and *dog* share *animal* and *home*. A real model learns such numbers, and its features rarely
have names.

Taught in ``01_dot_products`` and used in ``02_softmax``.
"""

import torch

from chapter3_helpers.sentence import embed_text

# What has which feature; a word may stand in several rows.
WORDS_BY_FEATURE = {
    "person": """
        i me you he him she her we us they them who someone everybody person people man men woman
        women child children boy girl baby friend mother father parent sister brother family son
        daughter teacher doctor student king queen farmer writer ann bob""",
    "animal": """
        animal cat dog puppy kitten rabbit bird horse cow pig goat sheep chicken duck mouse fish
        bee lion tiger wolf bear fox elephant snake""",
    "plant": """
        tree trees flower grass leaf seed wood forest garden rose apple banana orange rice potato
        tea coffee""",
    "food": """
        food bread cake cheese egg soup rice potato salad apple banana orange fish chicken meat
        sugar salt breakfast lunch dinner""",
    "drink": """
        drink drank milk water tea coffee juice beer wine soup thirsty cup glass jug bottle""",
    "eating": """
        eat eats ate eaten eating food hungry breakfast lunch dinner cook cooks cooked bake baked
        taste tastes tasted kitchen table plate bowl spoon sweet sour salty bitter""",
    "home": """
        home house kitchen room bed door window table chair garden family cat dog puppy kitten
        mother father""",
    "place": """
        place here there where home house kitchen room school shop office park garden farm street
        road city town village country world forest river sea lake mountain bank""",
    "thing": """
        thing table chair bed door window book letter paper pen cup glass jug bottle plate bowl
        spoon bucket barrel box bag key ball car bus train bike boat plane mat phone computer""",
    "moving": """
        go goes went gone come comes came run runs ran walk walks walked jump jumps jumped fly
        flies flew swim swam chase chases chased travel journey trip step start starts road street
        car bus train bike boat plane bird horse fast slow""",
    "speaking": """
        say says said tell tells told ask asks asked answer speak talk talked call called word
        story question sing sings sang letter thank thanks thanked""",
    "feeling": """
        feel feels felt love loves loved like likes liked hate hates hated happy sad angry afraid
        tired hungry thirsty sleepy shy smile laugh laughed cry cried""",
    "seeing": "see sees saw seen look looks looked watch watches watched eye eyes find finds found",
    "learning": """
        learn learns learned read reads write writes wrote writer school student teacher book
        paper pen word question know knows knew think thinks thought""",
    "time": """
        time now then today tomorrow yesterday day night morning evening week month year spring
        summer autumn winter when always never before after often""",
    "number": "one two three four five six seven eight nine ten many few some all first second",
    "weather": "weather sun rain snow wind cloud sky hot cold warm spring summer autumn winter",
    "small word": """
        a an the this that my your his its our their is am are was were be been has have had do
        does did will would can could not and or but because so if in on at to of for with from by
        under over it as""",
}
FEATURES = tuple(WORDS_BY_FEATURE)
WORDS = {feature: frozenset(words.split()) for feature, words in WORDS_BY_FEATURE.items()}


def features_of(word: str) -> tuple[str, ...]:
    """Return the names of a word's features: none for an unknown word.

    Capitals make no difference, and a plural with *s* has the features of its singular.

    >>> features_of("Dogs"), features_of("xylophone")
    (('animal', 'home'), ())
    """
    word = word.lower()
    found = tuple(feature for feature in FEATURES if word in WORDS[feature])
    return found or tuple(f for f in FEATURES if word.removesuffix("s") in WORDS[f])


def shared_features(first: str, second: str) -> tuple[str, ...]:
    """Return the features that two words share; their dot product is how many.

    >>> shared_features("cat", "dog"), shared_features("cat", "milk")
    (('animal', 'home'), ())
    """
    return tuple(feature for feature in features_of(first) if feature in features_of(second))


def embed_by_features(text: str) -> tuple[tuple[str, ...], torch.Tensor, tuple[bool, ...]]:
    """Split a text into tokens and give each a number per feature: 1 where it has it, else 0.

    New compared with ``embed_text``: the numbers of a known word mean something. Those of an
    unknown word are drawn at random around 0, so that it matches nothing in particular.

    Returns:
        The tokens; a float32 tensor of shape (T, 18); and whether each token is known.

    >>> tokens, x, known = embed_by_features("The cat saw a gnu")
    >>> known
    (True, True, True, True, False)
    >>> (x[1] @ x[1]).item()  # what a cat has in common with a cat
    2.0
    """
    tokens, x = embed_text(text, len(FEATURES))
    x = x - 0.5
    found = [features_of(token) for token in tokens]
    for row, names in zip(x, found, strict=True):
        if names:
            row.copy_(x.new_tensor([feature in names for feature in FEATURES]))
    return tokens, x, tuple(map(bool, found))
