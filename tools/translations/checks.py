"""What a test can see of a translation: that it holds what its source holds."""

import re
from collections import Counter
from math import prod

from tools import glossary
from tools.translations.blocks import CODE_OR_FORMULA, MARKDOWN

ROLE = re.compile(r"\{\w+\}`([^`<]*)<([^>]+)>`")  # a link in a page of docs/
HAN = "[\u4e00-\u9fff]"
WITHOUT_BLANK = re.compile(rf"{HAN}\*{{0,2}}[\w`$]|[\w`$]\*{{0,2}}{HAN}", re.ASCII)
NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)((?: ?(?:million|billion|[万萬亿億兆]))*)")
TIMES = {
    "million": 10**6,
    "billion": 10**9,
    **dict.fromkeys("万萬", 10**4),
    **dict.fromkeys("亿億", 10**8),
    "兆": 10**12,  # in Taiwan
}
ENGLISH_SIGN = re.compile(rf"{HAN}\*{{0,2}}[,;:?!.(]|[,;:?!)]\*{{0,2}}{HAN}")


def number(found: re.Match) -> str:
    """Return a number as it is written; large ones, which Chinese counts in 万 and 亿, in full.

    >>> [number(NUMBER.match(text)) for text in ("62.5 billion", "625 亿", "0.60")]
    ['62500000000', '62500000000', '0.60']
    """
    digits, units = found.groups()
    times = prod(TIMES[unit] for unit in re.findall("|".join(TIMES), units))
    return f"{float(digits.replace(',', '')) * times:.0f}" if units else digits


def contents(text: str) -> dict[str, Counter]:
    """Count what a block must keep, and what is wrong with how it is shown."""
    formulas = []

    def take_formula(found: re.Match) -> str:
        if found[1]:  # code
            return found[0]
        formulas.append(found[0])
        return "@@"  # as JupyterLab does before it looks for bold

    text = ROLE.sub(r"[\1](\2)", text)
    kinds = ("inline code", "digits", "links", "bold", "stray asterisks", "line breaks")
    contained: dict[str, list] = {kind: [] for kind in kinds}
    contained["places"] = re.findall(r"\{\w+\}", text)  # where the program puts a value
    depth = 0
    for block in MARKDOWN.parse(CODE_OR_FORMULA.sub(take_formula, text)):
        for token in block.children or ():
            if token.type == "code_inline":
                contained["inline code"].append(token.content)
            elif token.type == "link_open":
                contained["links"].append(token.attrs["href"])
            elif token.type == "softbreak":
                contained["line breaks"].append("\n")
            elif token.type == "text":
                contained["digits"] += map(number, NUMBER.finditer(token.content))
                contained["stray asterisks"] += re.findall(r"\*+", token.content)
            depth += {"strong_open": 1, "strong_close": -1}.get(token.type, 0)
            if token.type == "strong_open":
                contained["bold"].append("")
            elif depth and token.content:
                contained["bold"][-1] += token.content
    contained["formulas"] = [" ".join(formula.split()) for formula in formulas]
    return {kind: Counter(items) for kind, items in contained.items()}


def faults(text: str, translation: str, notebook: str = "") -> list[str]:
    """Return what is wrong with a translation, by what a machine can see."""
    ours, theirs = contents(text), contents(translation)
    wrong = []
    for kind in ours.keys() - {"bold"}:
        for items, word in (
            (ours[kind] - theirs[kind], "lacks"),
            (theirs[kind] - ours[kind], "has"),
        ):
            if items:
                wrong.append(f"{kind}: the translation {word} {sorted(items.elements())}")
    if ours["bold"].total() != theirs["bold"].total():
        wrong.append(f"bold: {ours['bold'].total()} there, {theirs['bold'].total()} here")
    terms = [glossary.find(bold, notebook) for bold in ours["bold"].elements()]
    missing = Counter(term.chinese[0] for term in terms if term) - theirs["bold"]
    if missing:
        wrong.append(f"bold terms: the glossary has {sorted(missing.elements())}")
    plain = re.sub(r"\]\([^)]*\)", "]", ROLE.sub(r"[\1](\2)", translation))
    for place in WITHOUT_BLANK.findall(plain):
        wrong.append(f"no blank between Chinese and Latin: {place}")
    for place in ENGLISH_SIGN.findall(plain):
        wrong.append(f"an English sign after or before Chinese: {place}")
    return wrong
