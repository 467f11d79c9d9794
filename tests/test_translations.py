"""Translations: what is shown holds what its source holds, and is never out of date."""

import ast
import re

import polib
import pytest

from tools import glossary
from tools.notebook_files import NOTEBOOKS, notebook_paths, read
from tools.translations import catalogues, notebooks, program
from tools.translations.blocks import CODE_OR_FORMULA, replace
from tools.translations.checks import faults
from tools.translations.traditional import traditional

CATALOGUES = [(file.parts[-3], file.stem) for file in catalogues.LOCALE.glob("*/*/*.po")]
ENGLISH = "The **query** $q=xW_q$ of `x` asks ([why?](#Why)); 3 of 0.60 match in {k}."
CHINESE = (
    "`x` 的**查询**（query）$q=xW_q$ 发问（[为什么？](#Why)）；在 {k} 里，0.60 中有 3 个匹配。"
)


@pytest.mark.parametrize(("language", "name"), CATALOGUES)
def test_what_is_shown_holds_what_its_source_holds(language, name):
    for text, said in catalogues.shown(catalogues.read(language, name)).items():
        assert not faults(text, said, name[:2]), said


def test_a_faithful_translation_has_no_fault():
    assert not faults(ENGLISH, CHINESE, "03")


def test_large_numbers_are_counted_as_chinese_counts_them():
    assert not faults("62.5 billion ways, 141 million million", "625 亿种，141 万亿")
    assert faults("62.5 billion ways", "62.5 亿种")


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        ("`x` 的", "`X` 的", "inline code"),
        ("$q=xW_q$", "$q=xW_k$", "formulas"),
        ("0.60 中", "0.6 中", "digits"),
        ("0.60 中有 3 个", "0.60 中有三个", "digits"),
        ("(#Why)", "(#Warum)", "links"),
        ("**查询**（query）", "查询（query）", "bold"),
        ("**查询**", "**询问**", "bold terms"),
        ("**查询**（query）$q=xW_q$ ", "$q=xW_q$ **查询（query）**", "stray asterisks"),
        ("匹配。", "匹配。\n再见。", "line breaks"),
        ("有 3 个", "有3 个", "no blank"),
        ("在 {k} 里", "在 {key} 里", "places"),
        ("发问（", "发问(", "an English sign"),
    ],
)
def test_a_planted_difference_is_found(ours, theirs, kind):
    assert ours in CHINESE
    found = faults(ENGLISH, CHINESE.replace(ours, theirs), "03")
    assert any(fault.startswith(kind) for fault in found), found


def test_notebooks_whose_translation_is_their_source_come_out_byte_for_byte():
    for name, text in notebooks.pages(lambda name: str):
        assert (NOTEBOOKS / name).read_bytes() == text.encode(), name


def test_every_word_that_a_reader_sees_is_in_a_block():
    for path in notebook_paths():
        for cell in read(path).cells:
            if cell.cell_type == "markdown":
                left = CODE_OR_FORMULA.sub("", replace(cell.source, lambda text: ""))
                left = re.sub(r"</?(details|summary|p)>", "", left)
                assert not re.search("[A-Za-z]", left), (path.stem, cell.id, left)


def test_every_text_that_the_package_says_is_in_its_catalogue():
    """babel finds a text that stands alone: not an f-string, nor one of two after an ``if``."""
    messages = program.messages()
    for file in program.PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in program.SAID:
                text = call.args[0]
                for part in ast.walk(text):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        assert part is text, (file, call.lineno)
                        assert part.value in messages, (file, call.lineno)


SAID = {"A token asks every key.": "每个词元都问所有的键。", "It is gone.": "它不见了。"}


@pytest.fixture
def chinese(tmp_path, monkeypatch):
    """A catalogue of two translations, in a folder of its own."""
    monkeypatch.setattr(catalogues, "LOCALE", tmp_path)
    file = catalogues.update(polib.POFile(), dict.fromkeys(SAID, ""), SAID, "zh_CN")
    catalogues.path("zh_CN", "04").parent.mkdir(parents=True)
    file.save(str(catalogues.path("zh_CN", "04")))
    catalogues.speaker.cache_clear()
    yield file
    catalogues.speaker.cache_clear()


def test_a_changed_paragraph_is_english_until_somebody_has_looked_at_it(chinese):
    changed = "A token asks every other key."
    new = catalogues.update(chinese, {changed: "a 1", "Quite new": "a 2"}, {}, "zh_CN")
    entry, fresh, gone = new
    assert entry.fuzzy
    assert entry.previous_msgid == "A token asks every key."
    assert entry.msgstr == "每个词元都问所有的键。"
    assert not fresh.msgstr
    assert gone.obsolete
    counted = {"words": 8, "shown": 0, "changed": 1, "new": 1}
    assert catalogues.coverage(new) == counted

    new.save(str(catalogues.path("zh_CN", "04")))
    assert catalogues.speaker("zh_CN", "04")(changed) == changed
    back = catalogues.update(catalogues.read("zh_CN", "04"), dict.fromkeys(SAID, ""), {}, "zh_CN")
    assert catalogues.shown(back) == {"It is gone.": "它不见了。"}  # the other was not looked at


def test_a_notebook_that_its_reader_has_changed_stays_as_it_is(tmp_path, monkeypatch):
    said = {"one.ipynb": "1", "two.ipynb": "2"}
    monkeypatch.setattr(notebooks, "pages", lambda speak: said.items())
    assert notebooks.write(tmp_path, lambda name: str) == []
    (tmp_path / "one.ipynb").write_text("mine")
    said |= {"one.ipynb": "1, again", "two.ipynb": "2, again"}
    for _ in range(2):
        assert notebooks.write(tmp_path, lambda name: str) == ["one.ipynb"]
        assert (tmp_path / "one.ipynb").read_text() == "mine"
        assert (tmp_path / "two.ipynb").read_text() == "2, again"


def test_a_link_to_a_translated_heading_leads_to_its_cell():
    heading, cell = notebooks.headings("02_softmax")["Exercises"]
    source = "[a](#Exercises), [a](02_softmax.ipynb#Exercises) and [the next](03_x.ipynb)"
    same = notebooks.with_cell_ids(source, lambda name: str, "02_softmax.ipynb")
    assert same == source
    other = notebooks.with_cell_ids(source, lambda name: str.upper, "02_softmax.ipynb")
    assert heading == "Exercises"
    assert other.count(f"](02_softmax.ipynb#cell-id={cell})") == 2
    assert "#Exercises" not in other


@pytest.mark.parametrize("name", [name for _, name in CATALOGUES])
def test_traditional_letters_keep_what_their_source_holds(name):
    say = catalogues.speaker("zh_TW", name)
    for text in catalogues.shown(catalogues.read("zh_CN", name)):
        found = faults(text, say(text))
        assert not [fault for fault in found if not fault.startswith("bold terms")], say(text)
        assert not re.search("[这们个对]", say(text)), say(text)


@pytest.mark.parametrize(
    ("simplified", "english", "taiwan"),
    [
        ("三个数组成一个向量", "three numbers make up a vector", "三個數組成一個向量"),
        ("钟表的指针", "the hands of a clock", "鐘錶的指針"),
        ("抛出的结果", "how the coins fell", "拋出的結果"),
        ("循环翻译模型", "a recurrent translator", "循環翻譯模型"),
        ("训练循环", "a training loop", "訓練迴圈"),
        ("一次查找", "one look-up", "一次查找"),
        ("舍入", "rounding", "捨入"),
        ("单元格里、函数里、总和里", "in the cell", "儲存格裡、函式裡、總和裡"),
        ("一公里", "a kilometre", "一公里"),
        ("不复制", "without a copy", "不複製"),
        ("更复杂的方式", "in a richer way", "更複雜的方式"),
        ("合并不合并", "merged or not", "合併不合併"),
        ("最多只能，是只选一次，一只鸟", "only; a bird", "最多只能，是只選一次，一隻鳥"),
        ("挨得很近，不准看，拿不准", "close; may not; not sure", "挨得很近，不准看，拿不準"),
        ("二进制计数，一个二进制位", "to count in bits", "二進位計數，一個位元"),
        ("4 位，错开一位，位置", "4 bits, one place on", "4 位元，錯開一位，位置"),
        ("倒数第二位", "the last digit but one", "倒數第二位"),
        ("联系被切断", "is cut off", "關聯被切斷"),
        ("能通过检验，能通过多少", "passes the test", "能通過檢驗，能通過多少"),
        ("通过层，通过一个隐藏状态", "through the layers", "經過層，經過一個隱藏狀態"),
        ("通过缓存里的键", "by the cached keys", "透過快取裡的鍵"),
        ("巨量激活、优化器、参数", "massive activations", "巨量激活、優化器、參數"),
        ("残差连接", "a residual connection", "殘差連接"),
        ("词元后面", "after the token", "詞元後面"),
        ("“猫”", "“cat”", "「貓」"),
        ("每一行的和", "the sum of a row", "每一列的和"),
        ("各行各列", "rows and columns", "各列各行"),
        ("哪一行都行，由这一行得出", "any row will do", "哪一列都行，由這一列得出"),
        ("照你的算法", "as you count", "照你的算法"),
        ("键拉长几倍，要传布尔值", "is stretched; booleans", "鍵拉長幾倍，要傳布林值"),
        ("各列，而不是各行", "the *columns* sum to 1", "各行，而不是各列"),
        ("第 6 列表示 b，列出列表", "column 6 says b; list", "第 6 行表示 b，列出串列"),
        ("到最后一行为止", "ends with its last row", "到最後一列為止"),
        ("一行就能写完，每一列", "of one line; its columns", "一行就能寫完，每一行"),
        ("并行地运行，进行排列", "rows run in parallel", "平行地執行，進行排列"),
        ("这两个类属于一类", "they are of one kind", "這兩個類別屬於一類"),
        ("每个块用一块内存", "a layer has its memory", "每個區塊用一塊記憶體"),
        ("门控，一道门", "the gate of a network", "閘控，一道閘"),
        ("这门语言", "this language", "這門語言"),
        ("指数函数。这个函数", "the exponential", "指數函數。這個函數"),
        ("函数：e 的 s 次方", "e to the power s", "函數：e 的 s 次方"),
        ("写一个函数：", "write a function", "寫一個函式："),
        ("各个库，数据库", "libraries, a database", "各個函式庫，資料庫"),
        ("融合内核，Jupyter 内核", "a kernel", "融合核心函式，Jupyter 核心"),
        ("处理器的核心", "a core of the processor", "處理器的核心"),
        ("一块存储，不存储", "stored, not stored", "一塊儲存空間，不儲存"),
        ("在两个进程里跑程序", "in two processes", "在兩個行程裡跑程式"),
        ("用**随机失活**（dropout）。", "with **dropout**.", "用 **dropout**。"),
        ("关掉随机失活（dropout，筆记本）", "no dropout", "關掉 dropout（筆記本）"),
        ("没有随机失活，即 dropout", "no dropout", "沒有 dropout"),
        ("返回平均值、加权均值", "returns the mean", "回傳平均值、加權平均值"),
        ("掩码报错，打印注释", "the mask raises", "遮罩報錯，印出註解"),
        ("打印出来的列表", "the printed list", "印出來的串列"),
        ("141 万亿", "141 trillion", "141 兆"),
        ("赋给参数", "assigned to", "指派給參數"),
        ("拼接、批处理、教程、下划线", "to join; in batches", "串接、批次處理、教材、底線"),
        ("流水线、缺页、例程、算子", "a pipeline, a fault", "管線、分頁錯誤、常式、運算子"),
        ("访存受限，高速缓存、存储器", "memory-bound", "記憶體受限，快取、記憶體"),
        ("批归一化、方差、质量、推理", "batch norm", "批次正規化、變異數、品質、推論"),
        ("一段文本、图像、像素", "a text, an image", "一段文本、影像、像素"),
    ],
)
def test_taiwan_has_words_of_its_own(simplified, english, taiwan):
    assert traditional(simplified, english) == taiwan


def test_taiwans_glossary_has_each_name_once_and_in_its_letters():
    page = glossary.page(catalogues.speaker("zh_TW", "glossary"))
    assert "| 遮罩 |" in page
    assert "| dropout、暫退法、丟棄法 |" in page
    assert not re.search("[码连层权词头]", page)
