"""Chinese in traditional letters and in the words of Taiwan, made from the simplified by OpenCC.

OpenCC knows words and not what a sentence is about. What it gets wrong here, and words of the field
that Taiwan has others for, stand in ``WORDS``. Where the English decides, it is asked.
"""

import re
from functools import cache

from opencc import OpenCC

# What is said otherwise than OpenCC says it: simplified, traditional.
WORDS = {
    # OpenCC is wrong: of numbers, clock hands, coins, recurrent networks it makes an array, a
    # pointer, an exception, a loop.
    "数组成": "數組成",
    "指针": "指針",
    "抛": "拋",
    "循环神经网络": "循環神經網路",
    "循环网络": "循環網路",
    "循环翻译": "循環翻譯",
    "循环的": "循環的",
    "查找": "查找",
    "舍入": "捨入",
    "复制": "複製",
    "二进制位": "位元",
    "二进制数": "二進位數",
    "映射": "映射",
    "划算": "划算",
    "装不进": "裝不進",
    "通过测试": "通過測試",
    "通过检验": "通過檢驗",
    "通过一个隐藏状态": "經過一個隱藏狀態",
    "让多少通过": "讓多少通過",
    "通过层": "經過層",
    "参数": "參數",
    "残差连接": "殘差連接",
    "全连接": "全連接",
    "指数函数": "指數函數",
    "线性函数": "線性函數",
    "激活函数": "激活函數",
    "softmax 函数": "softmax 函數",
    "sigmoid 函数": "sigmoid 函數",
    "优化器": "優化器",
    "文本": "文本",
    "像素": "像素",
    # Taiwan has another word.
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
    "软件包": "套件",
    "单元格": "儲存格",
    "归一化": "正規化",
    "均值": "平均值",
    "返回": "回傳",
    "随机失活（dropout）": "dropout",
    "**随机失活**（dropout）": "**dropout**",
    "随机失活": "dropout",
    "计算机": "電腦",
    "推理": "推論",
    "打印": "印出",
    "注释": "註解",
    "词表": "詞彙表",
    "贪心": "貪婪",
    "例程": "常式",
    "反馈": "回饋",
    "留出数据": "保留資料",
    "报错": "出錯",
    "存储器": "記憶體",
    "信息泄漏": "資訊洩漏",
    "算法也一样": "算法也一樣",
}
# A row or a column, and a class; not the words in which their letters mean something else.
ROW_OR_COLUMN = re.compile(
    "(?<![进执运可流换不自另举实并])(?P<row>行)(?![为得代号动])"
    "|(?<![序排系数并下罗队])(?P<column>列)(?![出表入举成为在着])"
)
CLASS = re.compile("(?<![分种各一同人那两这哪])类(?![型别似推比])")
# What is left to mend in what OpenCC has made: letters that stand for two, marks of quotations, and
# a blank beside a Latin word that was Chinese.
AFTERWARDS = {
    "(?<![公英])里(?!程)": "裡",
    "(?<![皇太])后": "後",
    "“": "「",
    "”": "」",
    "(?<=[\u4e00-\u9fff])(?=dropout)|(?<=dropout)(?=[\u4e00-\u9fff])": " ",
}

_WORDS = re.compile("(" + "|".join(map(re.escape, sorted(WORDS, key=len, reverse=True))) + ")")


@cache
def converter() -> OpenCC:
    return OpenCC("s2twp")


def traditional(text: str, english: str = "") -> str:
    """Return a text in traditional letters; where a word has two meanings, its English decides.

    >>> traditional("循环神经网络的参数在内存里")
    '循環神經網路的參數在記憶體裡'

    A row is 列 in Taiwan, and a column 行; a line of code is 行 in both.

    >>> traditional("第 2 行第 3 列", "row 2, column 3"), traditional("一行代码", "a line of code")
    ('第 2 列第 3 行', '一行程式碼')
    """
    if re.search(r"\b(rows?|columns?)\b", english, re.IGNORECASE):
        text = ROW_OR_COLUMN.sub(lambda found: "列" if found["row"] else "行", text)
    if re.search(r"\bclass(es)?\b", english, re.IGNORECASE):
        text = CLASS.sub("类别", text)
    said = "".join(WORDS.get(part) or converter().convert(part) for part in _WORDS.split(text))
    for wrong, right in AFTERWARDS.items():
        said = re.sub(wrong, right, said)
    return said
