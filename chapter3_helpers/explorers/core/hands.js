// What the picture of an explorer answers to pointing, clicks and keys.
//
// The picture says itself what it is made of. data-q and data-k are the numbers of a query and of a
// key, data-r and data-c of a row and a column of parameters; a cell has those of the row and the
// column that it stands in. data-strip is the name of a
// part of a diagram. data-click, around them, names the settings that a click changes:
// {"q": "row", "k": "column", "show": "one number"} sets row and column to the numbers that were
// clicked, and show to what stands there. data-stop is what the keyboard reaches: the Tab key stops
// once at all that have the same one, the arrows walk on.
//
// A page of the book loads this file as it is; hands_widget.js follows it in a notebook.

// Listen to one explorer; change(settings) is called with what a click changes.
function c3Hands(root, change) {
  const SIDES = ["q", "k", "r", "c", "strip"];
  let hovered = null; // what the mouse is over
  let resting = false; // the keyboard points: a picture that changes under the mouse is no pointing
  let focused = null; // where the keyboard is: which drawing, which stop in it, which of its labels

  // The query, the key and the strip that an element stands for, if any.
  function meant(element) {
    const found = {};
    for (const side of SIDES) {
      const number = element?.closest(`[data-${side}]`)?.dataset[side];
      if (number !== undefined) found[side] = number;
    }
    return found;
  }

  // Mark what is pointed at, wherever it stands.
  function mark() {
    const held = root.querySelector(":focus-visible"); // not what a click has left the focus on
    const at = hovered ? meant(hovered) : meant(held);
    for (const side of SIDES) {
      root.toggleAttribute(`data-pointed-${side}`, side in at);
      for (const thing of root.querySelectorAll(`[data-at-${side}]`)) thing.removeAttribute(`data-at-${side}`);
      if (!(side in at)) continue;
      for (const thing of root.querySelectorAll(`[data-${side}="${at[side]}"]`)) thing.setAttribute(`data-at-${side}`, "");
    }
  }

  function click(element) {
    const place = element.closest("[data-click]");
    if (!place || element.closest(".c3-stale")) return;
    const settings = JSON.parse(place.dataset.click), at = meant(element);
    let hit = false; // or it was a title, say
    for (const side of SIDES) {
      const name = settings[side];
      delete settings[side];
      if (!name || !(side in at)) continue;
      settings[name] = side === "strip" ? at.strip : Number(at[side]);
      hit = true;
    }
    if (!hit) return;
    labelOf(element, at)?.focus({ preventScroll: true }); // from here the arrow keys go on
    change(settings);
  }

  // The label to which something in a drawing belongs: for a cell that of its row.
  function labelOf(element, at) {
    const all = [...(element.closest("table, svg")?.querySelectorAll("[data-stop]") ?? [])];
    const belongs = SIDES.map((side) => all.find((label) => side in at && meant(label)[side] === at[side]));
    return element.closest("[data-stop]") ?? belongs.find(Boolean);
  }

  // All labels that share a stop of the Tab key.
  const drawings = () => [...root.querySelectorAll(":is(table, svg):has([data-stop])")];
  const labels = (drawing, stop) => [...(drawing?.querySelectorAll(`[data-stop="${stop}"]`) ?? [])];

  const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  function key(event) {
    const label = event.target.closest("[data-stop]");
    if (!label || event.ctrlKey || event.altKey || event.metaKey) return;
    focus({ target: label });
    if (event.key === "Enter" || event.key === " ") click(label);
    else if (event.key in STEPS) {
      const all = labels(label.closest("table, svg"), label.dataset.stop);
      const next = all.indexOf(label) + STEPS[event.key];
      hovered = null;
      resting = true;
      all[Math.max(0, Math.min(next, all.length - 1))].focus();
    } else return;
    event.preventDefault();
  }

  // The focus may be gone since its label is: then redrawn puts it back.
  const blur = ({ target }) => setTimeout(() => {
    if (target.isConnected && !root.contains(document.activeElement)) focused = null;
    mark();
  });

  function focus({ target }) {
    const { stop } = target.dataset, drawing = target.closest("table, svg"), all = labels(drawing, stop);
    focused = stop ? { drawing: drawings().indexOf(drawing), stop, n: all.indexOf(target) } : null;
    for (const label of all) label.setAttribute("tabindex", label === target ? 0 : -1);
    mark();
  }

  // A new picture has lost the marks, and the focus if it was in the old one.
  function redrawn() {
    if (focused && document.activeElement === document.body) {
      const all = labels(drawings()[focused.drawing], focused.stop);
      all[Math.min(focused.n, all.length - 1)]?.focus({ preventScroll: true });
    }
    mark();
  }

  const point = (element) => { hovered = element?.closest(SIDES.map((side) => `[data-${side}]`).join()) ?? null; mark(); };
  const listeners = {
    mouseover: (event) => resting || point(event.target),
    mousemove: (event) => {
      if (!resting || !(event.movementX || event.movementY)) return;
      resting = false;
      point(event.target);
    },
    mouseleave: () => point(null),
    click: (event) => click(event.target),
    keydown: key,
    focusin: focus,
    focusout: blur,
  };
  for (const [name, listener] of Object.entries(listeners)) root.addEventListener(name, listener);
  const watch = new MutationObserver(redrawn);
  watch.observe(root, { childList: true, subtree: true });
  root.dataset.hands = "";
  return () => {
    for (const [name, listener] of Object.entries(listeners)) root.removeEventListener(name, listener);
    watch.disconnect();
  };
}
