// The page of the search: sections of the book, each with the line that has most of the words.
// passages.js, which the build writes, holds the sections.

// Words that say nothing of what is looked for: Sphinx's, and those that make a question.
const c3Small = new Set([...stopwords, ..."can do does how i my what when where which who why you your".split(" ")]);

const c3Search = (() => {
  const stemmer = new Stemmer(), stems = new Map();

  function stem(word) {
    if (!stems.has(word)) stems.set(word, stemmer.stemWord(word));
    return stems.get(word);
  }

  // Chinese puts no spaces between words: every two characters side by side are one here. A name in
  // code is a word, and so are its parts.
  function words(text) {
    return [...text.toLowerCase().matchAll(/(\p{Script=Han}+)|[\p{L}\p{N}_]+/gu)].flatMap(([word, chinese]) => {
      if (chinese) return chinese.length < 3 ? [word] : [...chinese].slice(1).map((sign, i) => chinese[i] + sign);
      const parts = word.split("_").filter((part) => part.length > 2);
      return [...new Set([stem(word), ...(word.includes("_") ? parts.map(stem) : [])])];
    });
  }

  // How often each word is in a section, more where it is in the title or in what readers call it.
  const USUAL = 150; // words of a section
  const sections = c3Passages.map((section) => {
    const weights = new Map(), [title, names, lines, code] =
      [[section.title, section.number], section.names, section.lines, section.code].map((texts) => words(texts.join("\n")));
    for (const word of lines) weights.set(word, (weights.get(word) ?? 0) + 1);
    for (const word of code) weights.set(word, (weights.get(word) ?? 0) + 0.3);
    const length = (lines.length + code.length) / USUAL;
    for (const [word, count] of weights) weights.set(word, count / (count + 0.5 + 0.5 * length));
    for (const word of new Set(names)) weights.set(word, (weights.get(word) ?? 0) + 1);
    for (const word of new Set(title)) weights.set(word, (weights.get(word) ?? 0) + 1.5);
    return { ...section, weights };
  });
  const sectionsWith = new Map();
  for (const { weights } of sections) for (const word of weights.keys()) sectionsWith.set(word, (sectionsWith.get(word) ?? 0) + 1);
  const worth = (word) => Math.log(1 + sections.length / (sectionsWith.get(word) ?? sections.length));

  // The words to look for; what is only part of a word stands for the words that it is part of.
  function meant(text) {
    const all = [...new Set(words(text))];
    const some = all.filter((word) => !c3Small.has(word));
    return new Map((some.length ? some : all).map((word) => {
      const longer = sectionsWith.has(word) || word.length < 3 ? [] : [...sectionsWith.keys()].filter((known) => known.includes(word));
      return [word, longer.length ? longer : [word]];
    }));
  }

  // What is asked for as it is typed, signs included: how much of a name that is.
  function share(text, name) {
    const [typed, whole] = [text, name].map((t) => t.toLowerCase().trim());
    return typed && whole.includes(typed) && typed.length >= whole.length / 2 ? typed.length / whole.length : 0;
  }

  return function search(text) {
    const wanted = meant(text), most = Math.max(...[...wanted.values()].flat().map(worth));
    const has = (weights, forms) => Math.max(0, ...forms.map((form) => (weights.get(form) ?? 0) * worth(form)));
    const results = sections.map((section) => {
      const scores = [...wanted.values()].map((forms) => has(section.weights, forms));
      const named = Math.max(0, ...[section.title, ...section.names].map((name) => share(text, name)));
      const found = scores.filter(Boolean).length / wanted.size;
      const lesson = section.page.startsWith("notebooks/") ? 1 : 0.6;
      const worded = lesson * found * scores.reduce((a, b) => a + b, 0);
      return { ...section, worded, named: 10 * most * named };
    });
    const best = Math.max(...results.map(({ worded }) => worded));
    return results
      .filter(({ worded, named }) => named || worded > best / 4)
      .sort((a, b) => b.worded + b.named - a.worded - a.named)
      .slice(0, 20)
      .map((section) => ({ ...section, line: lineOf(section, wanted) }));
  };

  // The line of a section with the most of the words; sentences before code.
  function lineOf({ lines, code }, wanted) {
    const weigh = (line, factor) => {
      const here = new Set(words(line));
      const found = [...wanted.values()].map((forms) => Math.max(0, ...forms.map((form) => (here.has(form) ? worth(form) : 0))));
      return [factor * found.reduce((a, b) => a + b, 0), line];
    };
    const all = [...lines.map((line) => weigh(line, 1)), ...code.flatMap((block) => block.split("\n")).map((line) => weigh(line, 0.7))];
    return all.reduce((best, next) => (next[0] > best[0] ? next : best), [0, lines[0] ?? ""])[1];
  }
})();

const MOST_SIGNS = 220;

function c3ShowResults(text) {
  const place = document.getElementById("search-results"), results = c3Search(text);
  const typed = splitQuery(text).map((word) => word.toLowerCase());
  const marked = typed.filter((word) => !c3Small.has(word));
  localStorage.setItem("sphinx_highlight_terms", marked.join(" ")); // book.js marks them on the page
  const list = document.createElement("ul");
  list.className = "search";
  for (const { page, number, anchor, title, line } of results) {
    const link = Object.assign(document.createElement("a"), { href: `${page}.html${anchor && "#"}${anchor}` });
    const where = Object.assign(document.createElement("span"), { className: "c3-where", textContent: number });
    link.append(where, " ", title);
    const at = Math.min(...marked.map((word) => line.toLowerCase().indexOf(word)).filter((i) => i >= 0));
    const start = line.length > MOST_SIGNS && at > MOST_SIGNS / 2 && at < Infinity ? line.lastIndexOf(" ", at - MOST_SIGNS / 3) + 1 : 0;
    const rest = line.slice(start), end = rest.length > MOST_SIGNS ? rest.lastIndexOf(" ", MOST_SIGNS) : rest.length;
    const context = document.createElement("p");
    context.className = "context";
    context.textContent = (start ? "… " : "") + rest.slice(0, end) + (end < rest.length ? " …" : "");
    const item = document.createElement("li");
    item.append(link, context);
    list.append(item);
    for (const word of marked) _highlightText(context, word, "highlighted");
  }
  const said = Object.assign(document.createElement("p"), { textContent: results.length ? "" : "No section has any of these words." });
  place.replaceChildren(said, list);
}

Search.performSearch = c3ShowResults;
