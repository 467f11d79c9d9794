"""Chinese in traditional letters and in the words of Taiwan, made from the simplified by OpenCC."""

import re
from functools import cache

from opencc import OpenCC

# Where OpenCC has another word: for a parameter that of an argument, for a residual connection that
# of a line to the internet, for a recurrent network that of a loop in a program. And where it has
# none: 掩码 is 遮罩 in Taiwan.
WORDS = {
    "参数": "參數",
    "循环神经网络": "循環神經網路",
    "循环网络": "循環網路",
    "残差连接": "殘差連接",
    "全连接": "全連接",
    "笔记本里": "筆記本裡",
    "循环的": "循環的",
    "指数函数": "指數函數",
    "线性函数": "線性函數",
    "激活函数": "激活函數",
    "softmax 函数": "softmax 函數",
    "sigmoid 函数": "sigmoid 函數",
    "优化器": "優化器",
    "文本": "文本",
    "掩码": "遮罩",
    "过拟合": "過度擬合",
    "并行": "平行",
    "流水线": "管線",
    "缺页": "分頁錯誤",
    "访存受限": "記憶體受限",
    "高速缓存": "快取",
    "质量": "品質",
    "方差": "變異數",
    "图像": "影像",
    "像素": "像素",
    "软件包": "套件",
}
_WORDS = re.compile("(" + "|".join(sorted(WORDS, key=len, reverse=True)) + ")")


@cache
def converter() -> OpenCC:
    return OpenCC("s2twp")


def traditional(text: str) -> str:
    """Return a text in traditional letters.

    >>> traditional("循环神经网络的参数在内存里")
    '循環神經網路的參數在記憶體裡'
    """
    parts = _WORDS.split(text)
    return "".join(WORDS.get(part) or converter().convert(part) for part in parts)
