// The page of the search: sections of the book, each with the line that has most of the words.
// passages.js, which the build writes, holds the sections, words that stand for one another, and what
// is said where nothing was found.

// Words that say nothing of what is looked for: Sphinx's, and those that make a question.
const c3Small = new Set([...stopwords, ..."can do does how i my what when where which who why you your".split(" ")]);

const c3Search = (() => {
  const stemmer = new Stemmer(), stems = new Map(), stemsOf = new Map(); // of a word, of a text

  function stem(word) {
    if (!stems.has(word)) stems.set(word, stemmer.stemWord(word));
    return stems.get(word);
  }

  // Chinese puts no spaces between words: every two characters side by side are one here. A name in
  // code is a word, and so are its parts. A number is one word, 1,024 the same as 1024.
  function words(text) {
    const whole = text.toLowerCase().replace(/(\d),(?=\d{3}(?!\d))/g, "$1");
    return [...whole.matchAll(/(\p{Script=Han}+)|\d+\.\d+|[\p{L}\p{N}_]+/gu)].flatMap(([word, chinese]) => {
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

  // Words that stand for one another: each with the stems that it and the others are made of. What
  // is more than a word, and all of Chinese, is looked for in the text as it is typed.
  const others = new Map(), phrases = [];
  for (const group of c3Same) {
    const forms = group.map((name) => words(name));
    for (const [i, name] of group.entries()) {
      const rest = forms.filter((form) => form.join() !== forms[i].join());
      if (/^\p{Script=Han}$/u.test(name)) continue; // it is a part of too many words
      if (forms[i].length > 1 || /\p{Script=Han}/u.test(name)) phrases.push([name.toLowerCase(), forms[i], rest]);
      else others.set(forms[i][0], [...(others.get(forms[i][0]) ?? []), ...rest]);
    }
  }
  phrases.sort(([a], [b]) => b.length - a.length);

  // What to look for: for each thing that is meant, its forms and what each is worth.
  const ANOTHER = 0.6; // another word for it
  const formsOf = (own, rest) => [...own.map((form) => [form, 1]), ...rest.map((form) => [form, ANOTHER])];
  function meant(text) {
    let left = text.toLowerCase();
    const wanted = [];
    for (const [phrase, own, rest] of phrases) {
      const pattern = /\p{Script=Han}/u.test(phrase) ? phrase : `\\b${phrase.replace(/\W/g, "\\$&")}\\b`;
      const without = left.replaceAll(new RegExp(pattern, "g"), " ");
      if (without === left) continue;
      left = without;
      wanted.push(formsOf([own], rest));
    }
    // A word that is only part of a word stands for the words that it is part of.
    const all = [...new Set(words(left))], some = all.filter((word) => !c3Small.has(word));
    for (const word of some.length || wanted.length ? some : all) {
      const longer = sectionsWith.has(word) || word.length < 3 ? [] : [...sectionsWith.keys()].filter((known) => known.includes(word));
      wanted.push(formsOf(longer.length ? longer.map((known) => [known]) : [[word]], others.get(word) ?? []));
    }
    return wanted;
  }

  // What is asked for as it is typed, signs included: how much of a name that is.
  function share(text, name) {
    const [typed, whole] = [text, name].map((t) => t.toLowerCase().trim());
    return typed && whole.includes(typed) && typed.length >= whole.length / 2 ? typed.length / whole.length : 0;
  }

  return function search(text) {
    const wanted = meant(text), most = Math.max(0, ...wanted.flat().map(([form]) => value(form)));
    const results = sections.map((section) => {
      const scores = wanted.map((forms) => has(forms, (stem) => section.weights.get(stem) ?? 0));
      const named = Math.max(0, ...[section.title, ...section.names].map((name) => share(text, name)));
      const found = scores.filter(Boolean).length / wanted.length;
      const lesson = /^notebooks\/\d/.test(section.page) ? 1 : 0.6;
      const together = found ? 0.5 + closest(section, wanted) / 2 : 0;
      const worded = lesson * found * together * scores.reduce((a, b) => a + b, 0);
      return { ...section, worded, named: lesson * 10 * most * named };
    });
    const best = Math.max(...results.map(({ worded }) => worded));
    return results
      .filter(({ worded, named }) => named || worded > best / 8)
      .sort((a, b) => b.worded + b.named - a.worded - a.named)
      .slice(0, 20)
      .map((section) => ({ ...section, line: lineOf(section, wanted) }));
  };

  // What a form is worth, and the most that one of several forms is worth where each stem counts so
  // much; a form is there if all of its stems are.
  function value(form) { return form.reduce((sum, stem) => sum + worth(stem), 0); }
  function has(forms, counts) {
    return Math.max(0, ...forms.map(([form, factor]) => {
      const found = form.map((stem) => counts(stem) * worth(stem));
      return found.every(Boolean) ? factor * found.reduce((a, b) => a + b, 0) : 0;
    }));
  }

  // What a line has of what is meant.
  function weigh(text, wanted) {
    if (!stemsOf.has(text)) stemsOf.set(text, new Set(words(text)));
    const here = stemsOf.get(text);
    return wanted.reduce((sum, forms) => sum + has(forms, (stem) => +here.has(stem)), 0);
  }

  // How much of what is meant stands together, in one line, the title or a question: from 0 to 1.
  function closest(section, wanted) {
    const all = wanted.reduce((sum, forms) => sum + Math.max(...forms.map(([form, factor]) => factor * value(form))), 0);
    const texts = [section.title, `${section.number} ${section.title}`, ...section.names, ...section.lines];
    return Math.max(0, ...texts.map((text) => weigh(text, wanted))) / (all || 1);
  }

  // The line of a section with the most of what is meant: the short answer to a question that was
  // asked so, a sentence, or code.
  function lineOf({ lines, code, answers }, wanted) {
    const all = [
      ...answers.map(([question, short]) => [weigh(`${question} ${short}`, wanted), short]),
      ...lines.map((line) => [weigh(line, wanted), line]),
      ...code.flatMap((block) => block.split("\n")).map((line) => [0.7 * weigh(line, wanted), line]),
    ];
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
  const said = Object.assign(document.createElement("p"), { textContent: results.length ? "" : c3NothingFound });
  place.replaceChildren(said, list);
}

Search.performSearch = c3ShowResults;
