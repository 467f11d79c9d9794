// Recorded explorers, and sections that open when something leads to them.

async function c3Record(name, packed, words) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const recording = await new Response(stream).json();
  for (const root of document.querySelectorAll(`#${name}`)) c3Explorer(root, recording, words);
}

function c3Explorer(root, { controls, others, tokens, rows, states, tree }, words) {
  const [bar, under, view] = [".c3-controls", ".c3-under", ".c3-view"].map((c) => root.querySelector(c));
  const code = Object.assign(document.createElement("pre"), { hidden: true });
  const chosen = Object.fromEntries(controls.map((control) => [control.name, control.start]));

  // Walk down the choices; one that is not on offer any more gives way to the one before it.
  function draw() {
    let node = tree;
    for (const control of controls) {
      const [labels, next, unseen, returned] = node;
      let index = 0;
      if (labels) {
        index = labels.indexOf(chosen[control.name]);
        if (index < 0) index = Math.min(control.index ?? 0, labels.length - 1);
        chosen[control.name] = labels[index];
        control.index = index;
      }
      control.labels = labels;
      control.returned = returned;
      control.show(unseen ? null : labels, index);
      node = next[index];
    }
    let row = 0; // a state is the steps from row to row
    const [above, panels, lines] = states[node].flatMap((step) => rows[(row += step)]).map((id) => tokens[id]).join("").split("\0");
    const focused = document.activeElement?.name;
    under.querySelectorAll(".c3-pictures").forEach((place) => (place.innerHTML = above));
    view.innerHTML = panels;
    code.innerHTML = `<code>${lines}</code>`;
    const offered = controls.filter((control) => control.labels).map(({ name }) => [name, chosen[name]]);
    root.dataset.chosen = JSON.stringify(Object.fromEntries(offered));
    if (focused) root.querySelector(`input[name="${focused}"]:checked`)?.focus();
  }

  for (const control of controls) {
    control.show = () => {}; // of what a click sets there is nothing to be seen
    if (control.kind === "clicked") continue;
    const place = document.createElement("div");
    if (control.kind === "board") {
      place.className = "c3-board c3-pictures";
      under.append(place);
      continue;
    }
    place.className = `c3-control-${control.name}`;
    place.title = control.tooltip;
    const choose = (label) => {
      Object.assign(chosen, control.returned?.[control.labels.indexOf(label)], { [control.name]: label });
      draw();
    };
    if (control.kind === "slider") {
      place.innerHTML = `<label>${control.label} <input type="range" min="0"> <output></output></label>`;
      const [input, output] = place.querySelectorAll("input, output");
      control.show = (labels, index) => {
        place.hidden = !labels;
        if (!labels) return;
        [input.max, input.value, output.textContent] = [labels.length - 1, index, labels[index]];
        input.setAttribute("aria-valuetext", labels[index]);
        input.oninput = () => choose(labels[input.value]);
      };
      if (control.play) place.prepend(player(input, control, words));
    } else if (control.kind === "switch") {
      place.innerHTML = `<label><input type="checkbox"> ${control.label}</label>`;
      const input = place.querySelector("input");
      input.onchange = () => choose(input.checked ? "on" : "off");
      control.show = (labels, index) => { place.hidden = !labels; input.checked = !!labels && labels[index] === "on"; };
    } else if (control.kind === "list") {
      place.innerHTML = `<label>${control.label} <select></select></label>`;
      const list = place.querySelector("select");
      list.onchange = () => choose(list.value);
      control.show = (labels, index) => {
        place.hidden = !labels;
        if (labels) list.replaceChildren(...labels.map((label, i) => new Option(label || words.none, label, false, i === index)));
      };
    } else { // buttons, which may lie on pictures, and the numbers that were recorded
      const pictures = control.kind === "thumbnails";
      place.classList.add(pictures ? "c3-thumbnails" : "c3-buttons");
      place.innerHTML =
        (pictures ? '<div class="c3-pictures widget-html-content"></div><div class="c3-buttons">' : "") +
        `<span class="widget-label">${control.label}</span><div class="widget-radio-box" role="radiogroup"></div>`;
      const box = place.querySelector(".widget-radio-box");
      box.setAttribute("aria-label", control.label);
      control.show = (labels, index) => {
        place.hidden = !labels;
        if (!labels) return;
        if (box.children.length !== labels.length || [...box.children].some((l, i) => l.textContent !== labels[i])) {
          box.replaceChildren(...labels.map((label) => {
            const button = document.createElement("label"), input = document.createElement("input");
            [input.type, input.name] = ["radio", `${root.id}-${control.name}`];
            input.onchange = () => choose(label);
            button.append(input, label);
            return button;
          }));
        }
        box.children[index].querySelector("input").checked = true;
      };
    }
    (control.kind === "thumbnails" ? under : bar).append(place);
  }
  for (const control of others) {
    const place = document.createElement("label");
    place.className = "c3-unrecorded";
    place.title = control.tooltip;
    const value = Object.assign(document.createElement("input"), { disabled: true });
    if (control.kind === "switch") Object.assign(value, { type: "checkbox", checked: control.start === "on" });
    else Object.assign(value, { value: control.start, size: Math.min(control.start.length + 1, 40) });
    place.append(...(control.kind === "switch" ? [value, " ", control.label] : [control.label, " ", value]));
    bar.append(place);
  }
  // A click on the picture; all of it once more takes away what nothing else can set.
  c3Hands(root, (settings) => {
    const set = controls.filter((control) => control.name in settings);
    const labels = set.map(({ name, labels, kind }) => {
      const value = String(settings[name]);
      const label = labels?.find((label) => label === value || label.startsWith(`${value} `));
      return label ?? (kind === "slider" ? nearest(labels, value) : undefined);
    });
    const before = controls.filter((control) => control.kind === "clicked" && chosen[control.name] !== "None");
    const again = [...set, ...before].every((control) => control.kind === "clicked" && chosen[control.name] === labels[set.indexOf(control)]);
    const next = set.map((control, i) => [control.name, again ? "None" : labels[i] ?? chosen[control.name]]);
    const moves = next.some(([name, label]) => chosen[name] !== label);
    Object.assign(chosen, Object.fromEntries(next));
    if (moves) draw();
    // On a phone the arithmetic of what was touched may come below the screen.
    if (matchMedia("(pointer: coarse)").matches) view.querySelector(".c3path")?.scrollIntoView({ block: "nearest" });
    return moves;
  });
  c3Heard(root);
  const tools = document.createElement("div");
  tools.className = "c3-tools";
  tools.innerHTML = `<button type="button" title="${words.back}">${words.reset}</button> ` +
    `<button type="button" aria-pressed="false" title="${words.lines}">Python</button>`;
  const [reset, python] = tools.children;
  reset.onclick = () => { for (const control of controls) chosen[control.name] = control.start; draw(); };
  python.onclick = () => { code.hidden = !code.hidden; python.setAttribute("aria-pressed", String(!code.hidden)); };
  bar.append(tools);
  bar.after(code);
  const note = document.createElement("p");
  note.className = "c3-recorded";
  note.textContent = words.recorded + (others.length ? ` ${words.grey}` : "");
  root.append(note);
  draw();
}

// A button that walks through a slider's steps to the end, and from the end through all of them.
function player(input, { label, play }, words) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "c3-play" });
  const go = (step) => { input.value = step; input.oninput(); };
  let walk = 0;
  const stop = () => {
    walk = clearInterval(walk);
    [button.textContent, button.ariaLabel] = [words.start, words.play.replace("{slider}", label)];
  };
  button.onclick = () => {
    if (walk) return stop();
    if (+input.value === +input.max) go(0);
    [button.textContent, button.ariaLabel] = [words.end, words.stop.replace("{slider}", label)];
    walk = setInterval(() => (+input.value < +input.max ? go(+input.value + 1) : stop()), Math.max(play, 400));
  };
  stop();
  return button;
}

// The recorded step of a slider that is nearest to where an arrow was dragged.
function nearest(labels, value) {
  const off = (label) => Math.abs(label - value);
  return labels?.reduce((best, label) => (off(label) < off(best) ? label : best));
}

function openFold() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.querySelector(":scope > details.folded")?.setAttribute("open", "");
  target.scrollIntoView();
}

addEventListener("hashchange", openFold);
document.addEventListener("DOMContentLoaded", () => {
  openFold();
  if (!document.getElementById("search-results")) markWhatWasSearched();
  document.querySelector(".btn-notebook")?.setAttribute("download", "");
});

// Mark the words that were searched for, and go to the paragraph with the most of them: of the
// section that the result led to. (Sphinx stops marking at the first drawing.)
function markWhatWasSearched() {
  const words = (localStorage.getItem("sphinx_highlight_terms") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  localStorage.removeItem("sphinx_highlight_terms");
  if (!words.length) return;
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = target?.closest("section, dl, p") ?? document;
  let [best, most] = [null, 0];
  for (const block of document.querySelectorAll("article :is(h1, h2, h3, p, li, tr, pre)")) {
    if (block.closest(".c3-explorer")) continue;
    const found = words.filter((word) => block.textContent.toLowerCase().includes(word));
    for (const word of found) _highlightText(block, word, "highlighted");
    const weight = section.contains(block) * (found.length - (block.localName === "pre") / 2); // sentences before code
    if (weight > most) [best, most] = [block, weight];
  }
  for (let fold = best?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  best?.scrollIntoView({ block: "center" });
}

// The sidebar remembers how far it was scrolled, and may hide the present page.
addEventListener("load", () => {
  document.querySelector(".bd-sidebar-primary .current > a.current")?.scrollIntoView({ block: "nearest" });
});

// A table that goes on beyond the edge fades there.
addEventListener("load", () => {
  for (const box of document.querySelectorAll(".pst-scrollable-table-container")) {
    const mark = () => box.classList.toggle("goes-on", box.scrollWidth - box.scrollLeft > box.clientWidth + 4);
    box.addEventListener("scroll", mark);
    new ResizeObserver(mark).observe(box);
  }
});

// Paper is light. Closer looks and code are open on it; of answers only what the reader has opened, so
// that a page prints as a worksheet.
let theme = null;
addEventListener("beforeprint", () => {
  theme ??= document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  for (const fold of document.querySelectorAll("details:is(.folded, .hide)")) fold.open = true;
});
addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = theme;
  theme = null;
});
