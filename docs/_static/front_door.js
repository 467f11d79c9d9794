// The first page: the reader of notebook 03 at the recorded steps of its training. Only its weights
// come from torch; what it makes of a sentence is computed here.

// The reader is one attention head with queries, keys and values of three numbers. A word is a 1 in a
// column of its own, so that a word times a matrix is one row of the matrix.
function frontDoorReader({ words, weights }) {
  const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  const numbers = [...new Float32Array(bytes.buffer)]; // (steps, 3 matrices, 38 words, 3)
  const matrices = { query: 0, key: 1, value: 2 };
  const width = 3;

  return (step, tokens) => {
    const project = (matrix) => tokens.map((token) => {
      const row = ((step * 3 + matrices[matrix]) * words.length + words.indexOf(token)) * width;
      return numbers.slice(row, row + width);
    });
    const [queries, keys, values] = [project("query"), project("key"), project("value")]; // (T, 3) each
    const weights = queries.map((query) => softmax(keys.map((key) => dot(query, key) / Math.sqrt(width)))); // (T, T)
    const context = weights.map((row) => [0, 1, 2].map((i) => dot(row, values.map((value) => value[i])))); // (T, 3)
    return { weights, answers: context.map(softmax) };
  };

  function dot(a, b) {
    return a.reduce((sum, number, i) => sum + number * b[i], 0);
  }

  function softmax(scores) {
    const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
    const total = powers.reduce((sum, power) => sum + power);
    return powers.map((power) => power / total);
  }
}

// The sentence as words; capitals and the signs between them make no difference.
function frontDoorTokens(text) {
  return text.toLowerCase().replace(/[.,;:!?"“”]/g, " ").split(/\s+/).filter(Boolean);
}

function frontDoor(root, data) {
  const { words, nouns, adjectives, pronouns, pronounOf, batches } = data;
  const MOST_WORDS = 30, PAUSE = 300, THICKEST = 14; // milliseconds from step to step; pixels
  const last = batches.length - 1;
  const read = frontDoorReader(data);
  // What is said comes from the book's catalogue, the values in braces from here.
  const say = (text, values) => data.said[text].replace(/{(\w+)}/g, (_, name) => values[name]);
  const listed = (all) => all.join(say(", "));
  const quoted = (all) => listed(all.map((word) => say("“{word}”", { word })));
  const kinds = { animal: [say("animal"), say("animals")], drink: [say("drink"), say("drinks")], vessel: [say("vessel"), say("vessels")] };
  const kindOf = Object.fromEntries(Object.entries(adjectives).flatMap(([kind, all]) => all.map((word) => [word, kind])));
  const start = { tokens: frontDoorTokens(data.sentence), step: last, word: null };
  let state = start; // word: the place of the word that was clicked; null stands for the adjective
  let playing = 0, remembering = 0, fitted = "";

  const labels = {
    batches: say("batches"),
    sentence: say("The sentence. Choose a word to see where it looks."),
    answer: say("What “it” is in German"),
    it: say("“it” is"),
    own: say("your own sentence"),
    reset: say("Reset"),
    known: say("The {count} words that it knows", { count: words.length }),
  };
  root.innerHTML = `
    <div class="door-training"><button type="button"></button>
      <label>${labels.batches} <input type="range" min="0" max="${last}"></label> <span aria-hidden="true"></span></div>
    <div class="door-picture"><svg aria-hidden="true"></svg>
      <div class="door-words" role="toolbar" aria-label="${labels.sentence}"></div></div>
    <fieldset class="door-choice"><legend>it was</legend></fieldset>
    <div class="door-answer" role="group" aria-label="${labels.answer}"><span>${labels.it}</span></div>
    <p class="door-said" role="status" aria-live="polite"></p>
    <div class="door-own"><label>${labels.own} <input type="text" autocomplete="off" autocapitalize="none" spellcheck="false"></label>
      <button type="button">${labels.reset}</button></div>
    <p class="door-refused" role="alert" hidden></p>
    <details><summary>${labels.known}</summary></details>`;
  const [training, picture, choice, answer, said, typing, refused, known] = root.children;
  const [play, slider, output] = training.querySelectorAll("button, input, span");
  const [svg, line] = picture.children;
  const [own, reset] = typing.querySelectorAll("input, button");

  function add(parent, name, properties = {}) {
    const made = Object.assign(document.createElement(name), properties);
    parent.append(made);
    return made;
  }

  const radios = Object.values(adjectives).map(([word]) => {
    const label = add(choice, "label");
    const radio = add(label, "input", { type: "radio", name: "door-adjective", value: word, onchange: () => put(word, state.tokens) });
    label.append(word);
    return radio;
  });
  const bars = pronouns.map((pronoun) => {
    const row = add(answer, "div");
    add(row, "b", { textContent: pronoun, lang: "de" });
    return [add(row, "small"), add(add(row, "span", { className: "door-bar" }), "i"), add(row, "span")];
  });
  const groups = Object.entries(nouns).map(([kind, all]) => [kinds[kind][1], all]);
  groups.push([say("adjectives"), Object.values(adjectives).flat()], [say("verbs"), data.verbs]);
  const grouped = groups.flatMap(([, all]) => all);
  for (const [name, all] of [...groups, [say("other words"), words.filter((word) => !grouped.includes(word))]]) {
    const row = add(known, "div", { textContent: name });
    for (const word of all) add(row, "button", { type: "button", textContent: word, onclick: () => put(word) });
  }

  function change(changes) {
    state = { ...state, ...changes };
    draw();
    if (!playing) remember();
  }

  function draw() {
    const { tokens, step } = state;
    const adjective = tokens.findLastIndex((token) => token in kindOf);
    const asking = state.word ?? (adjective < 0 ? tokens.length - 1 : adjective);
    const { weights, answers } = read(step, tokens);
    slider.value = step;
    slider.setAttribute("aria-valuetext", say("{count} batches", { count: batches[step] }));
    output.textContent = say("{count} of {all}", { count: batches[step], all: batches[last] });
    for (const radio of radios) radio.checked = radio.value === tokens[adjective];
    drawWords(tokens, asking, weights[asking]);
    drawLines(asking, weights[asking]);
    answer.classList.toggle("door-unasked", !(tokens[asking] in kindOf));
    bars.forEach(([which, bar, number], i) => {
      which.textContent = listed(tokens.filter((token) => pronounOf[token] === pronouns[i]));
      bar.style.width = `${100 * answers[asking][i]}%`;
      number.textContent = answers[asking][i].toFixed(2);
    });
    said.textContent = sentence(asking, weights[asking], answers[asking]);
  }

  function drawWords(tokens, asking, row) {
    while (line.children.length > tokens.length) line.lastChild.remove();
    while (line.children.length < tokens.length) {
      const button = add(line, "button", { type: "button", tabIndex: -1 });
      button.append(document.createElement("span"), document.createElement("small"));
    }
    [...line.children].forEach((button, i) => {
      const [word, number] = button.children;
      [word.textContent, number.textContent] = [tokens[i], row[i].toFixed(2)];
      button.setAttribute("aria-label", say("{word}, weight {weight}", { word: tokens[i], weight: row[i].toFixed(2) }));
      button.setAttribute("aria-pressed", String(i === asking));
      button.onclick = () => change({ word: i });
    });
    if (!line.querySelector("[tabindex='0']")) line.children[asking].tabIndex = 0;
  }

  // Words stand in a row with arches above it; where the row is too long, in a column.
  function drawLines(asking, row) {
    const fits = `${root.clientWidth} ${state.tokens}`;
    if (fits !== fitted) {
      fitted = fits;
      line.classList.remove("door-column");
      line.classList.toggle("door-column", line.scrollWidth > line.clientWidth);
    }
    const boxes = [...line.children].map(({ offsetLeft: x, offsetTop: y, offsetWidth: w, offsetHeight: h }) => ({ x, y, w, h }));
    const column = line.classList.contains("door-column");
    const right = Math.max(...boxes.map(({ x, w }) => x + w)) + 6;
    const place = ({ x, y, w, h }) => (column ? y + h / 2 : x + w / 2);
    const room = column ? (picture.clientWidth - right) / 0.75 - THICKEST : 150;
    while (svg.children.length > row.length) svg.lastChild.remove();
    while (svg.children.length < row.length) svg.append(document.createElementNS(svg.namespaceURI, "path"));
    row.forEach((weight, i) => {
      let [from, to] = [place(boxes[asking]), place(boxes[i])];
      if (i === asking) [from, to] = [from - 8, to + 8]; // its weight for itself is a loop
      const reach = Math.min(room, 24 + 0.42 * Math.abs(from - to));
      const top = boxes[asking].y - 4;
      const path = column
        ? `M${right} ${from}C${right + reach} ${from} ${right + reach} ${to} ${right} ${to}`
        : `M${from} ${top}C${from} ${top - reach} ${to} ${top - reach} ${to} ${top}`;
      svg.children[i].setAttribute("d", path);
      svg.children[i].style.strokeWidth = `${weight < 0.005 ? 0 : THICKEST * weight}px`;
    });
  }

  // The picture in one sentence, and whether the answer is right.
  function sentence(asking, row, answer) {
    const { tokens, step } = state, word = tokens[asking], kind = kindOf[word];
    const most = row.indexOf(Math.max(...row));
    const when = step ? say("After {count} batches", { count: batches[step] }) : say("Before training");
    const looks = Math.max(...row) - Math.min(...row) < 0.08
      ? say("{when}, “{word}” looks at all words alike", { when, word })
      : say("{when}, “{word}” looks most at “{other}” ({weight})", { when, word, other: tokens[most], weight: row[most].toFixed(2) });
    if (!kind) return say("{looks}. The training used the answers of adjectives alone, so the weights of “{word}” mean nothing.", { looks, word });
    const pronoun = pronouns[answer.indexOf(Math.max(...answer))];
    const says = say("{looks}, and the answer is “{pronoun}”", { looks, pronoun });
    const fitting = [...new Set(tokens.filter((token) => nouns[kind].includes(token)))], [noun] = fitting;
    if (fitting.length > 1) return say("{says}. More than one word could be “{word}”: {words}.", { says, word, words: listed(fitting) });
    if (!noun) return say("{says}. It can't be right: the sentence has no {kind} that could be “{word}”.", { says, kind: kinds[kind][0], word });
    return pronoun === pronounOf[noun]
      ? say("{says}, which is right: “it” is the {noun}.", { says, noun })
      : say("{says}. It should be “{right}”, for the {noun}.", { says, right: pronounOf[noun], noun });
  }

  // Show a sentence, or say why that can't be done. A word that is still being typed is waited for.
  function take(text, finished, word = null) {
    const tokens = frontDoorTokens(text);
    const unknown = [...new Set(tokens.filter((token) => !words.includes(token)))];
    if (!finished && unknown.length && unknown.every((token) => words.some((word) => word.startsWith(token)))) return;
    refused.textContent =
      tokens.length > MOST_WORDS ? say("There is room for {most} words, and this sentence has {count}.", { most: MOST_WORDS, count: tokens.length })
      : unknown.length ? say("It has never met {words}. Choose one of its words instead:", { words: quoted(unknown) })
      : tokens.length ? "" : say("Type a word, or choose one of these:");
    refused.hidden = !refused.textContent;
    root.classList.toggle("door-stale", !refused.hidden);
    if (!refused.hidden) known.open = true;
    change(refused.hidden ? { tokens, word: word in tokens ? word : null } : {});
  }

  // Put a word where an unknown one stands, or one of its kind; otherwise at the end.
  function put(word, tokens = frontDoorTokens(own.value)) {
    const kind = groups.find(([, all]) => all.includes(word))?.[1] ?? [];
    let place = tokens.findIndex((token) => !words.includes(token));
    if (place < 0) place = tokens.findLastIndex((token) => kind.includes(token));
    if (place < 0) place = tokens.length;
    own.value = [...tokens.slice(0, place), word, ...tokens.slice(place + 1)].join(" ");
    take(own.value, true);
  }

  function stop() {
    playing = clearInterval(playing);
    play.textContent = say("Play the training");
    said.setAttribute("aria-live", "polite");
  }

  function walk() {
    if (state.step === last) stop();
    change(state.step === last ? {} : { step: state.step + 1 });
  }

  play.onclick = () => {
    if (playing) { stop(); return change({}); }
    [playing, play.textContent] = [setInterval(walk, PAUSE), say("Stop")];
    said.setAttribute("aria-live", "off"); // nobody wants to hear every step
    change(state.step === last ? { step: 0 } : {});
  };
  slider.oninput = () => { stop(); change({ step: Number(slider.value) }); };
  own.oninput = () => take(own.value, false);
  own.onchange = () => take(own.value, true);
  reset.onclick = () => { stop(); own.value = data.sentence; take(own.value, true); change(start); };
  line.onkeydown = (event) => {
    const all = [...line.children], at = all.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (!all[to] || event.ctrlKey || event.altKey || event.metaKey) return;
    for (const button of all) button.tabIndex = button === all[to] ? 0 : -1;
    all[to].focus();
    event.preventDefault();
  };

  // The address keeps what differs from the start.
  function remember() {
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      const kept = new URLSearchParams(), text = state.tokens.join(" ");
      if (text !== data.sentence) kept.set("sentence", text);
      if (state.step !== last) kept.set("batches", batches[state.step]);
      if (state.word !== null) kept.set("word", state.word);
      const rest = `${kept}` && `#${kept}`;
      if (rest !== location.hash) history.replaceState(null, "", location.href.split("#")[0] + rest);
    }, 200);
  }

  function recall() {
    const kept = new URLSearchParams(location.hash.slice(1));
    if (!["sentence", "batches", "word"].some((name) => kept.has(name))) return false;
    const step = batches.indexOf(Number(kept.get("batches") ?? batches[last]));
    state = { ...start, step: step < 0 ? last : step };
    own.value = kept.get("sentence") ?? data.sentence;
    take(own.value, true, kept.has("word") ? Number(kept.get("word")) : null);
    root.scrollIntoView();
    return true;
  }

  stop();
  own.value = data.sentence;
  if (!recall()) draw();
  addEventListener("hashchange", recall);
  new ResizeObserver(() => fitted.startsWith(`${root.clientWidth} `) || draw()).observe(root);
}

frontDoor(document.getElementById("front-door"), FRONT_DOOR);
