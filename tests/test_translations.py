"""Translations: what is shown holds what its source holds, and is never out of date."""

import re

import polib
import pytest

from tools.notebook_files import NOTEBOOKS, notebook_paths, read
from tools.translations import catalogues, notebooks
from tools.translations.blocks import CODE_OR_FORMULA, replace
from tools.translations.checks import faults
from tools.translations.traditional import traditional

CATALOGUES = [(file.parts[-3], file.stem) for file in catalogues.LOCALE.glob("*/*/*.po")]
ENGLISH = "The **query** $q=xW_q$ of `x` asks ([why?](#Why)); 3 of 0.60 match in {k}."
CHINESE = "`x` 的**查询**（query）$q=xW_q$ 发问（[为什么？](#Why)）；在 {k} 里，0.60 中有 3 个匹配。"


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
        ("二进制位", "bits", "位元"),
        ("映射", "a map", "映射"),
        ("通过测试", "to pass a test", "通過測試"),
        ("词元后面", "after the token", "詞元後面"),
        ("划算", "it pays", "划算"),
        ("“猫”", "“cat”", "「貓」"),
        ("每一行的和", "the sum of a row", "每一列的和"),
        ("各行各列", "rows and columns", "各列各行"),
        ("并行地运行，进行排列", "rows run in parallel", "平行地執行，進行排列"),
        ("这个类属于一类", "this class is of one kind", "這個類別屬於一類"),
        ("用**随机失活**（dropout）。", "with **dropout**.", "用**dropout**。"),
        ("返回均值", "returns the mean", "回傳平均值"),
        ("掩码报错，打印注释", "the mask raises", "遮罩出錯，印出註解"),
    ],
)
def test_taiwan_has_words_of_its_own(simplified, english, taiwan):
    assert traditional(simplified, english) == taiwan
