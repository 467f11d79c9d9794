"""What a model writes and how surprised it was, with all heads and with some of them off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chapter3_helpers._language import say, to_say
from chapter3_helpers.diagrams.core.scene import text_width
from chapter3_helpers.explorers.core.marks import click_attribute, mark
from chapter3_helpers.explorers.core.panels import Note, Panel, table, table_row
from chapter3_helpers.explorers.core.style import escape
from chapter3_helpers.explorers.model.cutting import Answer
from chapter3_helpers.explorers.model.montage import WORDS, spread
from chapter3_helpers.explorers.model.tokens import readable

TAIL = 24  # letters of the text before what is new
LEFT, HIGH, WIDE = 30, 90, 460  # pixels for the numbers, of the longest bar, of all bars
NARROWEST, WIDEST = 2, 26  # pixels from one token to the next


@dataclass(frozen=True)
class Written(Panel):
    """What a model writes after a text and how surprised it was by each token, as its loss: a bar
    with all heads, a line across it with some of them off.

    Args:
        names: of the text's tokens.
        whole: what it does with all heads.
        cut: what it does without some, or the same once more.
        off: the heads that are off, in words; "" for none.
        drawn: whether the losses are drawn, and not their means alone written.
    """

    picture = False
    beside = True

    names: Sequence[str]
    whole: Answer
    cut: Answer
    off: str
    drawn: bool = True

    def presented(self) -> "Written":
        return replace(self, drawn=False)

    def html(self) -> str:
        tail = self.whole.text
        if len(tail) > TAIL:
            tail = "… " + tail[-TAIL:].partition(" ")[2] or tail[-TAIL:]
        rows = [_row(say("all heads"), tail, self.whole)]
        if self.off:
            rows.append(_row(say("without {heads}", heads=self.off), tail, self.cut))
        texts = table("c3f", say("what the model writes after the text"), rows)
        figure = self._figure() if self.drawn and len(self.names) > 1 else ""
        return f'<div class="c3g c3wrote">{texts}{figure}</div>'

    def _figure(self) -> str:
        names = self.names[1:]
        whole, cut = self.whole.losses.tolist(), self.cut.losses.tolist()
        step = max(NARROWEST, min(WIDEST, WIDE // len(names)))
        bar = max(1, step - max(1, step // 4))
        top = math.ceil(max(*whole, *cut, 1))
        shown = spread(names, step)
        low = 8 + round(max(text_width(name, WORDS) for name in shown.values()))
        width = LEFT + step * len(names)

        def y(loss: float) -> float:
            return 6 + HIGH * (1 - loss / top)

        parts = [
            f'<text x="{LEFT - 6}" y="{y(loss) + 4:.0f}" text-anchor="end">{loss}</text>'
            f'<path class="grid" d="M{LEFT} {y(loss):.0f}h{width - LEFT}"/>'
            for loss in (top, 0)
        ]
        text = to_say("{token}: all heads {whole}")
        if self.off:
            text = to_say("{token}: all heads {whole}; without {heads} {cut}")
        for n, name in enumerate(names):
            of = {"token": name, "heads": self.off}
            said = say(text, whole=f"{whole[n]:.2f}", cut=f"{cut[n]:.2f}", **of)
            x, line = LEFT + step * n, ""
            if self.off:
                line = f'<path class="cut" d="M{x - 1} {y(cut[n]):.1f}h{bar + 2}"/>'
            parts.append(
                f"<g{mark('key', n + 1)}><title>{escape(said)}</title>"
                f'<rect x="{x}" y="{y(whole[n]):.1f}" width="{bar}" '
                f'height="{HIGH + 6 - y(whole[n]):.1f}"/>{line}</g>'
            )
        parts += [
            f'<text{mark("key", n + 1)} text-anchor="end" transform="translate('
            f'{LEFT + step * n + (bar + WORDS * 0.7) / 2:.1f} {HIGH + 11}) rotate(-90)">'
            f"{escape(name)}</text>"
            for n, name in shown.items()
        ]
        title, legend = escape(say("how surprised it was by each token: loss")), ""
        if self.off:
            n = max(range(len(names)), key=lambda n: abs(cut[n] - whole[n]))
            most = say(
                "without {heads}; most changes at {token}: {whole} → {cut}",
                heads=self.off,
                token=names[n],
                whole=f"{whole[n]:.2f}",
                cut=f"{cut[n]:.2f}",
            )
            every = escape(say("all heads"))
            legend = (
                f"<div class=c3l><span><i></i>{every}</span>"
                f"<span><i class=cut></i>{escape(most)}</span></div>"
            )
        return (
            f'<figure class="c3v"><figcaption>{title}</figcaption><svg role="group" '
            f'viewBox="0 0 {width} {HIGH + 10 + low}" width="{width}" aria-label="{title}">'
            f"{''.join(parts)}</svg>{legend}</figure>"
        )


def _row(name: str, tail: str, answer: Answer) -> str:
    """Return what was written behind the end of the text, and the mean loss, as a row."""
    before, new = (escape(*readable([text])) if text else "" for text in (tail, answer.written))
    mean = say("mean loss {loss}", loss=f"{answer.losses.mean():.2f}") if len(answer.losses) else ""
    return table_row(escape(name), f"<td><i>{before}</i><b>{new}</b></td><td>{mean}</td>")


@dataclass(frozen=True)
class HeadNote(Note):
    """What a head does, with what switches it off or on again.

    Args:
        off: the setting after a click.
        action: what a click does.
    """

    off: str = ""
    action: str = ""

    def presented(self) -> "HeadNote":
        return replace(self, text=self.brief)

    def html(self) -> str:
        switch = (
            f' <span class="c3switch" role="button" data-stop="switch" tabindex="0"'
            f"{click_attribute({'off': self.off})}>{escape(self.action)}</span>"
        )
        return f'<p class="c3n">{escape(self.text)}{switch}</p>'
