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
    "循环翻译": "循環翻譯",
    "查找": "查找",
    "舍入": "捨入",
    "复制": "複製",
    "复杂": "複雜",
    "合并": "合併",
    "不准看": "不准看",
    "挨": "挨",
    "你的算法": "你的算法",
    "几倍": "幾倍",
    "布尔": "布林",
    "二进制": "二進位",
    "联系": "關聯",
    "参数": "參數",
    "连接": "連接",
    "激活": "激活",
    "算子": "運算子",
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
    "平均值": "平均值",
    "均值": "平均值",
    "返回": "回傳",
    "随机失活": "dropout",
    "计算机": "電腦",
    "推理": "推論",
    "打印出来": "印出來",
    "打印": "印出",
    "注释": "註解",
    "词表": "詞彙表",
    "贪心": "貪婪",
    "例程": "常式",
    "进程": "行程",
    "反馈": "回饋",
    "留出数据": "保留資料",
    "存储器": "記憶體",
    "列表": "串列",
    "拼接": "串接",
    "批处理": "批次處理",
    "批归一化": "批次正規化",
    "压缩包": "壓縮檔",
    "万亿": "兆",
    "教程": "教材",
    "下划线": "底線",
    "赋给": "指派給",
    "Jupyter 内核": "Jupyter 核心",
    "内核": "核心函式",
    "门控": "閘控",
}
# Words that have another meaning where the English has one of these.
WHERE_ENGLISH_HAS = {
    "bits?": ("(?<!单)(?<!开一)(?:二进制)?位(?![置元数])", "位元"),
    "gate": ("(?<![专部])门", "闸"),
}
# A row or a column, a class, a block; not the words in which their letters mean something else.
ROW_OR_COLUMN = re.compile(
    "(?<![进执运可流换不自另举实并都就才也])(?P<row>行)(?![代号动]|得通|为(?!止))"
    "|(?<![序排系数并下罗队])(?P<column>列)(?![出入举成在着]|为(?!止)|表(?!示))"
)
CLASS = re.compile("(?<![分种各一同人那两这哪])类(?![型别似推比模])")
BLOCK = re.compile("(?<![模小图同方一二两四几这整分])块")
# A function of mathematics, and then every other one in its paragraph.
FUNCTION = re.compile("[数性活失流]函数|(?:softmax|sigmoid) 函数|^函数[： ]|函数(?:值|的每个)")
# What is left to mend in what OpenCC has made: letters that stand for two, marks of quotations, to
# pass and to go through (not by way of), a library, what would be said twice, and a blank beside a
# Latin word that was Chinese.
AFTERWARDS = {
    "(?<![公英])里(?!程)": "裡",
    "(?<![皇太])后": "後",
    "(?<![一二兩三四五六七八九十幾每這那])隻": "只",
    "“": "「",
    "”": "」",
    "(?<=多少)透過|透過(?=多少|檢驗|測試)": "通過",
    "透過(?=層|一個隱藏狀態)": "經過",
    "(?<![料倉式])庫": "函式庫",
    "(?<=[塊的])儲存(?!格)": "儲存空間",
    r"(?<=dropout)(\**|\]\([^()]*\))(?:，即 ?dropout|（\*?dropout\*?）)": r"\1",
    "dropout（dropout，": "dropout（",
    "（dropout 就是 ?dropout）": "",
    r"(?<=[\u4e00-\u9fff])(?=\**dropout)|(?<=dropout)(?=[\u4e00-\u9fff])": " ",
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

    def has(word: str) -> bool:
        return bool(re.search(rf"\b{word}\b", english, re.IGNORECASE))

    if has("rows?") or has("columns?"):
        line = has("lines?") and not has("rows?")
        rows = "行" if line else "列"
        text = ROW_OR_COLUMN.sub(lambda found: rows if found["row"] else "行", text)
    for word, (means, instead) in WHERE_ENGLISH_HAS.items():
        if has(word):
            text = re.sub(means, instead, text)
    text = BLOCK.sub("区块", CLASS.sub("类别", text))
    said = "".join(WORDS.get(part) or converter().convert(part) for part in _WORDS.split(text))
    if FUNCTION.search(text):
        said = re.sub("(?<!核心)函式", "函數", said)
    for wrong, right in AFTERWARDS.items():
        said = re.sub(wrong, right, said)
    return said
